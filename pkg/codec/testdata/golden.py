#!/usr/bin/env python3
"""Golden Avro bodies, from and for Python's fastavro (pip install fastavro).

  golden.py write    makes cases.json: values, and the bodies that fastavro writes of them
  golden.py verify   reads tieout.json, the bodies that tieout writes of the same values,
                     with fastavro, and compares each value with its case

Values are JSON: decimals as text, dates as ISO 8601. Nothing is random but by a fixed seed.
"""

import datetime
import decimal
import io
import json
import pathlib
import random
import sys

import fastavro

HERE = pathlib.Path(__file__).parent
SCHEMAS = HERE.parents[2] / "schemas" / "avro"
UTC = datetime.timezone.utc
EPOCH = datetime.datetime(1970, 1, 1, tzinfo=UTC)
decimal.getcontext().prec = 60


def load(name):
    return json.loads((SCHEMAS / f"{name}.avsc").read_text())


def later_envelope():
    """What a producer with fields of its own writes: tieout skips them."""
    schema = load("sales_envelope")
    schema["fields"].insert(0, {"name": "trace", "type": ["null", "string", {"type": "fixed", "name": "TraceID", "size": 16}], "default": None})
    schema["fields"].insert(3, {"name": "weights", "type": {"type": "record", "name": "Weights", "fields": [
        {"name": "gross", "type": "double"}, {"name": "net", "type": "float"}, {"name": "checked", "type": "boolean"},
        {"name": "unit", "type": {"type": "enum", "name": "Unit", "symbols": ["KG", "LB"]}},
    ]}})
    schema["fields"].append({"name": "lane_before", "type": ["null", "QueueTier"], "default": None})
    schema["fields"].append({"name": "counter", "type": "long", "default": -1})
    return schema


def earlier_envelope():
    """What a producer writes that doesn't know queue_tier."""
    schema = load("sales_envelope")
    schema["fields"] = [field for field in schema["fields"] if field["name"] != "queue_tier"]
    return schema


WRITERS = {
    "sales_envelope": lambda: load("sales_envelope"),
    "outcome": lambda: load("outcome"),
    "later_envelope": later_envelope,
    "earlier_envelope": earlier_envelope,
}

DECIMALS = [
    "0", "0.000000001", "-0.000000001", "1", "-1", "0.000000127", "0.000000128", "-0.000000128", "-0.000000129",
    "0.000000255", "0.000000256", "-0.000000256", "-0.000000257", "0.000032767", "0.000032768", "-0.000032768",
    "2.147483647", "2.147483648", "-2.147483648", "9223372036.854775807", "9223372036.854775808",
    "-9223372036.854775808", "18446744073.709551615", "18446744073.709551616",
    "99999999999999999999999999999.999999999", "-99999999999999999999999999999.999999999",
    "17014118346046923173168730371.588410572",
]
TEXTS = [
    "", "a", "Käse", "日本語", "\U0001F9FE", "e\u0301", "<>&\u007f\u2028", "x" * 63, "x" * 64, "x" * 256, "|",
]
DATES = ["1970-01-01T00:00:00+00:00", "1969-12-31T23:59:59.999999+00:00", "2010-12-01T08:26:00+00:00",
         "0001-01-01T00:00:00+00:00", "9999-12-31T23:59:59.999999+00:00"]
INTS = [1, 0, -1, 63, 64, -64, -65, 2**31 - 1, -2**31]
LONGS = INTS + [2**63 - 1, -2**63]
TIERS = ["fast_path", "compute_heavy", "dead_letter"]


def envelope(pick):
    return {
        "message_id": "01JDXK2V6WQ3Z6B8R7N1M5T4C9",
        "reconciliation_key": "%064x" % pick(range(2**64)),
        "correlation_id": pick(TEXTS),
        "vendor_id": pick(TEXTS),
        "claim_period": "2010-Q4",
        "agreement_version": pick(INTS),
        "queue_tier": pick(TIERS),
        "payload": {
            "store_id": pick(TEXTS),
            "retailer_invoice": pick(TEXTS),
            "line_item_hash": "%064x" % pick(range(2**64)),
            "promo_tier": pick(["BRONZE", "SILVER", "GOLD", "PLATINUM"]),
            "qualifying_units": pick(DECIMALS),
            "tier_rate": pick(DECIMALS),
            "claimed_amount": pick([None] + DECIMALS),
            "currency": pick(["GBP", "EUR", "USD"]),
            "transaction_date": pick(DATES),
        },
    }


def later_fields(pick):
    return {
        "trace": pick([None, "traced", "00" * 16]),
        "weights": {"gross": pick([0.0, -1.5, 1e300]), "net": pick([0.0, 0.5]), "checked": pick([True, False]), "unit": pick(["KG", "LB"])},
        "lane_before": pick([None] + TIERS),
        "counter": pick(LONGS),
    }


def outcome(pick):
    cents = [text for text in DECIMALS if decimal.Decimal(text) == round(decimal.Decimal(text), 2)]
    cents += ["0.01", "-0.01", "9999999999999999.99", "-9999999999999999.99", "36864.04"]
    return {
        "reconciliation_key": "%064x" % pick(range(2**64)),
        "version": pick(LONGS),
        "revision": pick(INTS),
        "run_kind": "original",
        "outcome": pick(["auto_post", "dispute"]),
        "amount": pick(cents),
        "claimed": pick([None] + DECIMALS),
        "difference": pick([None] + DECIMALS),
        "currency": "GBP",
        "prev_version": pick([None] + LONGS),
        "prev_amount": pick([None] + cents),
    }


def values():
    """Cases: each list's values one after the other, then at random."""
    for number in range(100):
        rng = random.Random(number)

        def pick(options, number=number, rng=rng):
            if isinstance(options, range):
                return rng.randrange(options.stop)
            return options[number] if number < len(options) else rng.choice(options)

        yield "sales_envelope", envelope(pick)
        yield "outcome", outcome(pick)
        if number < 30:
            yield "later_envelope", {**envelope(pick), **later_fields(pick)}
            early = envelope(pick)
            del early["queue_tier"]
            yield "earlier_envelope", early


def native(value, schema):
    """A JSON value as fastavro takes it."""
    if isinstance(schema, list):
        if value is None:
            return None
        # Of several branches only texts are told apart: 16 bytes in hex are the fixed one.
        branches = [branch for branch in schema if branch != "null"]
        if len(branches) > 1 and len(value) == 32:
            return bytes.fromhex(value)
        return native(value, branches[0])
    if not isinstance(schema, dict):
        return value
    if schema["type"] == "record":
        return {field["name"]: native(value[field["name"]], field["type"]) for field in schema["fields"]}
    if schema.get("logicalType") == "decimal":
        return decimal.Decimal(value)
    if schema.get("logicalType") == "timestamp-micros":
        return datetime.datetime.fromisoformat(value)
    return value


def write():
    schemas = {name: make() for name, make in WRITERS.items()}
    cases = []
    for name, value in values():
        out = io.BytesIO()
        fastavro.schemaless_writer(out, fastavro.parse_schema(schemas[name]), native(value, schemas[name]))
        cases.append({"writer": name, "value": value, "body": out.getvalue().hex()})
    lines = ",\n".join(json.dumps(case) for case in cases)
    writers = ",\n".join(f"{json.dumps(name)}: {json.dumps(schema)}" for name, schema in schemas.items())
    (HERE / "cases.json").write_text('{"writers": {\n%s\n},\n"cases": [\n%s\n]}\n' % (writers, lines))
    print(f"{len(cases)} cases written")


def verify():
    """tieout.json has one body a case of the two schemas that tieout writes, in order."""
    cases = [case for case in json.loads((HERE / "cases.json").read_text())["cases"] if case["writer"] in ("sales_envelope", "outcome")]
    bodies = json.loads((HERE / "tieout.json").read_text())
    if len(bodies) != len(cases):
        sys.exit(f"{len(bodies)} bodies for {len(cases)} cases")
    for number, (body, case) in enumerate(zip(bodies, cases)):
        schema = load(case["writer"])
        source = io.BytesIO(bytes.fromhex(body))
        got = fastavro.schemaless_reader(source, fastavro.parse_schema(schema), None)
        want = native(case["value"], schema)
        if got != want or source.read():
            sys.exit(f"case {number}: fastavro reads {got}, want {want}")
    print(f"{len(bodies)} bodies verified")


if __name__ == "__main__":
    commands = {"write": write, "verify": verify}
    if len(sys.argv) != 2 or sys.argv[1] not in commands:
        sys.exit(__doc__)
    commands[sys.argv[1]]()
