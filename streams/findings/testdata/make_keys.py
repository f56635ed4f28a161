"""Makes keys.json: findings with the key that Python gives them.

    python3 make_keys.py > keys.json
"""

import hashlib
import json


def key(finding):
    text = json.dumps(finding, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("ascii")).hexdigest()


MEMBERS = ("trade_id", "node_id", "settlement_interval", "version", "revision", "statement_amount", "ledger_amount", "class")
FINDINGS = [
    ("PT1-0112", "N.Y.C.", "2019-11-03T05:00:00Z", 1, 0, "265.04", "265.03", "rounding"),
    ("PT1-0112", "N.Y.C.", "2019-11-03T05:00:00Z", 2, 1, "100.00", "-3.50", "stale_version"),
    ("PT1-0112", "N.Y.C.", "2019-11-03T05:00:00Z", None, None, "0.125", None, "missing_in_ledger"),
    ("PT1-0112", None, "2019-11-03T05:00:00Z", None, None, "-0.01", None, "missing_in_ledger"),
    ("PT1-0112", None, "2019-11-03T05:00:00Z", None, None, "12.00", "9999999999999999.99", "amount"),
    ("PT1-0112", "N.Y.C.", "2019-11-03T05:00:00Z", 9223372036854775807, 2147483647, None, "0.00", "missing_in_statement"),
    ("PT1-0112", "N.Y.C.", "2019-11-03T05:00:00Z", 0, 0, "20.00", "10.00", "duplicate_in_statement"),
    ("<T>&\u2028\"\\", "N\u00f8de \U0001f50c", "2019-11-03T05:00:00Z", 0, 0, "20.00", "20.00", "quantity"),
]

print(json.dumps([{**dict(zip(MEMBERS, f)), "key": key(dict(zip(MEMBERS, f)))} for f in FINDINGS], indent=1))
