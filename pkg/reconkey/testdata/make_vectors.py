#!/usr/bin/env python3
"""Makes keys.json: what Python's hashlib and json.dumps make of identities.

    python3 make_vectors.py > keys.json

Strings stand in it as hexadecimal UTF-8, so that no JSON reader's opinion of
odd characters comes between. Nothing here is random.
"""
import hashlib
import itertools
import json
import sys

ODD = [
    "", " ", "  padded  ", "PL1-0001", "a", "A", "é", "e\u0301", "Ré-17", "发票-88", "🧾-1", "👩‍👩‍👧", "\U00010000", "\U0010ffff", "\uffff", "\ufffd", "\ufeff",
    "\ud7ff", "\ue000", "ß", "ẞ", "İ", "ı", "ﬁ", "\u00c5", "\u212b", "A\u030a", "\u00a0", "\u00ad", "\u200b", "\u200e", "\u202e", "\u2028", "\u2029", "a\u2028b", "\u0085",
    "<INV>&Co", "<script>", "&amp;", "a<b>c", "'", '"', 'q"uote', '""', "\\", "back\\slash", "\\\\", "\\n", "\\u0041", "/", "a/b", "</x>",
    "\x7f", "del\x7f", "\x80", "\x9f", "\n", "\r", "\r\n", "\t", "tab\there", "\b", "\f", "\v", "\x1b[0m", "{}", "[]", ":", ",", '{"a":1}', "null", "0", "-1", "1.0",
    "'; drop table x;--", "=1+1", "%s", "${x}", "#1", "x" * 256, "é" * 128, "🧾" * 64, "a" * 55, "a" * 56, "a" * 63, "a" * 64, "a" * 65,
] + [chr(code) for code in range(1, 32)]


def hexed(text):
    return text.encode("utf-8", "surrogateescape").hex()


def digest(data):
    return hashlib.sha256(data).hexdigest()


def canonical(identity):
    return json.dumps(identity, sort_keys=True, separators=(",", ":"))


def sales(invoice, item, tier, period):
    row = {"parts": [hexed(part) for part in (invoice, item, tier, period)]}
    named = zip(("retailer_invoice", "line_item_hash", "promo_tier", "claim_period"), (invoice, item, tier, period))
    for name, part in named:
        if "|" in part:
            return row | {"separator_in": name}
    return row | {"key": digest("|".join((invoice, item, tier, period)).encode("utf-8"))}


def trade(node, interval, trade_id, version):
    identity = {"trade_id": trade_id, "node_id": node, "settlement_interval": interval}
    return {
        "node_id": hexed(node), "settlement_interval": hexed(interval), "trade_id": hexed(trade_id), "version": version,
        "key": digest(canonical(identity).encode("ascii")),
        "version_key": digest(canonical(identity | {"version": version}).encode("ascii")),
    }


def free(members):
    text = canonical(members)
    rows = [[hexed(name), "text", hexed(value)] if isinstance(value, str)
            else [hexed(name), "null" if value is None else "integer", "" if value is None else str(value)]
            for name, value in members.items()]
    return {"members": rows, "json": text, "key": digest(text.encode("ascii"))}


def identities():
    yield {}
    for text in ODD:
        yield {"name": text}
    for text in ODD[:90:3]:
        yield {text: 1, "b" + text: None}
    for number in (0, 1, -1, 9, 10, 2**31 - 1, 2**31, 2**53, 2**53 + 1, 2**63 - 1, -(2**63)):
        yield {"version": number}
    # Names sort by code point: upper case first, the BMP's end before what is above it.
    yield {"b": 1, "a": 2, "B": 3, "A": 4, "_": 5, "aa": 6, "é": 7, "\uffff": 8, "\U00010000": 9, "": 10}
    yield {"trade_id": "T1", "node_id": "N1", "settlement_interval": "2019-06-19T04:00:00Z", "version": 3, "revision": 0,
           "statement_amount": "12.34", "ledger_amount": None, "class": "missing_in_ledger"}
    # Bytes that aren't UTF-8, as Python carries them through text.
    for data in (b"\xff", b"a\x80b", b"\xc3", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xe2\x28\xa1"):
        yield {"raw": data.decode("utf-8", "surrogateescape")}


def main():
    periods = ("2010-Q4", "2011-P07", "2011-P13")
    tiers = ("BRONZE", "SILVER", "GOLD", "PLATINUM")
    claims = [sales(text, f"{i:032x}", tiers[i % 4], periods[i % 3]) for i, text in enumerate(ODD)]
    claims += [sales(f"PL1-{i:04}", text, tiers[i % 4], periods[i % 3]) for i, text in enumerate(ODD)]
    claims += [sales("a", "b", "GOLD ", "2010-Q4"), sales("", "", "", ""), sales("ab", "", "c", ""), sales("a", "b", "c", "")]
    for at, text in itertools.product(range(4), ("|", "a|b", "|a", "a|")):
        parts = ["A", "B", "GOLD", "2011-Q1"]
        parts[at] = text
        claims.append(sales(*parts))
    claims.append(sales("a|b", "c|d", "GOLD", "2011-Q1"))
    trades = [trade(text, "2019-06-19T04:00:00Z", f"T-{i}", i) for i, text in enumerate(ODD)]
    trades += [trade("N.Y.C.", "2019-11-03T05:00:00Z", text, 1560000000000000 + i) for i, text in enumerate(ODD)]

    vectors = {"sales": claims, "trades": trades, "identities": [free(members) for members in identities()]}
    sys.stdout.write("{\n")
    for i, (name, rows) in enumerate(vectors.items()):
        lines = ",\n".join("    " + json.dumps(row) for row in rows)
        sys.stdout.write(f'  "{name}": [\n{lines}\n  ]{"," if i + 1 < len(vectors) else ""}\n')
    sys.stdout.write("}\n")


main()
