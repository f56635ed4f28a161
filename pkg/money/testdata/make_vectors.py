#!/usr/bin/env python3
"""Makes decimals.json: what Python's decimal module says of decimals.

    python3 make_vectors.py > decimals.json

Nothing here is random: where many values are wanted, they're digits of SHA-256.
abs() and unary minus round to the default 28 digits, so they stay away from values.
Negative zero is written as zero, for the ledger has none.
"""
import decimal
import hashlib
import itertools
import json
import re
import sys
from decimal import Decimal

MODES = {
    "half_up": decimal.ROUND_HALF_UP,
    "half_even": decimal.ROUND_HALF_EVEN,
    "half_down": decimal.ROUND_HALF_DOWN,
    "up": decimal.ROUND_UP,
    "down": decimal.ROUND_DOWN,
    "ceiling": decimal.ROUND_CEILING,
    "floor": decimal.ROUND_FLOOR,
    "05up": decimal.ROUND_05UP,
}
PLAIN = re.compile(r"-?[0-9]+(\.[0-9]+)?")
WIDE = decimal.Context(prec=200)
CENT = Decimal("0.01")
NINE = Decimal("1E-9")


def plain(value):
    text = format(value, "f")
    return text.removeprefix("-") if value == 0 else text


def parsed(text):
    """What becomes of a text: a decimal that fits numeric(38,9), or a reason."""
    if not PLAIN.fullmatch(text, 0):
        return {"text": text, "refused": "not_a_decimal"}
    value = Decimal(text)
    if -value.as_tuple().exponent > 9:
        return {"text": text, "refused": "too_many_fraction_digits"}
    if value.copy_abs() >= 10**29:
        return {"text": text, "refused": "out_of_range"}
    return {
        "text": text,
        "plain": plain(value),
        "scale": -value.as_tuple().exponent,
        "coefficient": str(int("".join(map(str, value.as_tuple().digits)))),
        "negative": value < 0,
        "normalized": plain(WIDE.quantize(value, NINE)).rstrip("0").rstrip("."),
        "unscaled": unscaled(value, 9),
    }


def unscaled(value, scale):
    """The fewest bytes of two's complement that hold value at that scale."""
    number = int(value.scaleb(scale, WIDE))
    size = (number + (number < 0)).bit_length() // 8 + 1
    return number.to_bytes(size, "big", signed=True).hex()


def amount(quantity, rate, mode):
    """quantity x rate at 28 digits, which must be exact, rounded to the cent."""
    row = {"quantity": quantity, "rate": rate, "mode": mode}
    context = decimal.Context(prec=28)
    product = context.multiply(Decimal(quantity), Decimal(rate))
    if context.flags[decimal.Inexact]:
        return row | {"refused": "out_of_range"}
    cents = product.quantize(CENT, rounding=MODES[mode], context=WIDE)
    if cents.copy_abs() >= 10**16:
        return row | {"refused": "out_of_range"}
    return row | {"amount": plain(cents)}


def digits_of(seed, count):
    """count digits, the first of them not 0, that depend on nothing but seed."""
    number = int.from_bytes(hashlib.sha512(seed.encode()).digest(), "big")
    return str(number % (9 * 10 ** (count - 1)) + 10 ** (count - 1))


def with_scale(digits, scale):
    if scale == 0:
        return digits
    digits = digits.rjust(scale + 1, "0")
    return digits[:-scale] + "." + digits[-scale:]


def texts():
    yield from (
        "0", "-0", "0.0", "-0.00", "0.000000000", "00", "007", "-007.50", "1", "-1", "9", "10", "1.5", "1.50",
        "-1.500000000", "100", "0.1", "0.01", "0.000000001", "-0.000000001", "0.123456789", "12.345",
        "127", "128", "-128", "-129", "255", "256", "32767", "32768", "-32768", "-32769",
        "0.000000127", "0.000000128", "-0.000000128", "-0.000000129", "0.000032767", "0.000032768",
        "18446744073709551615", "18446744073709551616", "-18446744073709551616", "9223372036854775807",
        "9223372036854775808", "-9223372036854775808", "9999999999999999999", "10000000000000000000",
        "18446744073.709551615", "18446744073.709551616", "340282366920938463463.374607431",
        "9999999999999999.99", "-9999999999999999.99", "10000000000000000.00", "9999999999999999.995",
        "99999999999999999999999999999", "-99999999999999999999999999999", "99999999999999999999999999999.999999999",
        "-99999999999999999999999999999.999999999", "100000000000000000000000000000", "-100000000000000000000000000000",
        "100000000000000000000000000000.000000000", "999999999999999999999999999999", "340282366920938463463374607431768211455",
        "340282366920938463463374607431768211456", "0000000000000000000000000000000000000000000000001.5",
        "1" + "0" * 60, "0" * 60 + "1", "9" * 400,
        "1.1234567890", "1.0000000000", "15.959999999999999", "0.1234567891", "0." + "0" * 400, "-0.0000000001",
        "100000000000000000000000000000.0000000001",
        # Not plain notation.
        "", "-", "+", ".", "-.", "+5", "+0.5", "--5", "5-", ".5", "-.5", "5.", "-5.", "1.2.3", "1..2", "1e3", "1E3", "1e-7", "1E+3",
        "NaN", "nan", "sNaN", "-NaN", "Infinity", "-Infinity", "inf", "abc", "0x10", "0b1", "0o7", "1_000", "1,000", "1,5", "1 000",
        " 5", "5 ", "5\n", "\t5", "5\r\n", "\ufeff5", "5\x00", "\u0663", "\u0967\u0968", "\uff15", "5\u00a0", "\u22125", "\u20135", "\u00bd", "$5", "5%", "(5)",
        "5d", "5f", "5L", "1/2", "\"5\"", "'5'", "5;", "1e400", "99999999999999999999999999999999999999999x", "0.12345678901x",
    )
    for count, scale in itertools.product((1, 2, 5, 9, 10, 17, 18, 19, 20, 27, 28, 29, 37, 38), (0, 1, 2, 6, 9)):
        digits = digits_of(f"text {count} {scale}", count)
        yield ("-" if int(digits) % 2 else "") + with_scale(digits, scale)


def products():
    """Pairs whose product is a tie, next to one, or at a limit."""
    ties = ("0.125", "0.135", "0.145", "2.345", "2.335", "1.005", "0.005", "0.015", "0.025", "0.055", "0.045", "1.995", "0.995", "9.995", "99.995")
    for tie in ties:
        yield tie, "1"
        yield "-" + tie, "1"
        yield with_scale(str(int(tie.replace(".", "")) * 10**6 + 1), 9), "1"
        yield with_scale(str(int(tie.replace(".", "")) * 10**6 - 1), 9), "-1"
    yield from (
        ("0", "0.75"), ("-0.00", "5"), ("0", "99999999999999999999999999999.999999999"), ("3", "0.335"), ("1.5", "0.20"),
        ("1.500000000", "0.200000000"), ("0.5", "0.01"), ("0.4", "0.01"), ("2.5", "0.01"), ("0.1", "48.25"), ("-0.5", "46.45"),
        ("1000000", "0.000000001"), ("0.333333333", "3"), ("12345678.123456789", "0.987654321"), ("0.000000001", "0.000000001"),
        ("-0.000000001", "0.000000001"), ("0.001", "1"), ("0.0001", "1"), ("-0.0001", "1"), ("0.0009", "1"), ("-0.0099", "1"),
        ("0.00001", "0.1"), ("0.050000001", "1"), ("0.049999999", "1"), ("7", "3"), ("-7", "3.1"), ("10", "10"),
        # Both sides of numeric(18,2).
        ("9999999999999999.99", "1"), ("-9999999999999999.99", "1"), ("9999999999999999.994", "1"), ("9999999999999999.995", "1"),
        ("9999999999999999.9949", "1"), ("-9999999999999999.995", "1"), ("-9999999999999999.991", "1"), ("9999999999999999.990000001", "1"),
        ("10000000000000000", "1"), ("-10000000000000000", "1"), ("99999999999999999", "1000"), ("99999999999999", "99.99"),
        ("5000000000000000", "2"), ("3333333333333333.33", "3"), ("1000000000", "10000000"), ("1000000000", "9999999.99999999"),
        # Both sides of 28 digits.
        ("100005000000.999999999", "1000000.000000001"), ("100000000000.5", "1000000.000000001"),
        ("9999999999.9999", "99999.99999999"), ("99999.999999999", "99999.999999999"), ("999999.99999999", "99999.999999999"),
        ("1234567890123.456789", "1.000000001"), ("123456789012345.6789", "1.000000001"), ("12345678901234.56789", "1.00000001"),
        ("1234567890123456.789", "1.000000001"), ("1234567890.123456789", "1.000000001"), ("12345678901.123456789", "1.000000001"),
        ("1000000000000000.123456789", "1"), ("9999999999999999.123456789", "1.1"), ("4000000000000.123456789", "1.000000005"),
        ("4000000000000.123456788", "1.000000005"), ("8000000000000.5", "0.000000125"), ("1000000000000000000.123456789", "1"),
        ("10000000000000000000.123456789", "1"), ("10000000000000000000.123456780", "0.000000001"),
        ("1250000000000000000.000000008", "0.000000125"), ("99999999999999999999999999999.999999999", "1"),
        ("99999999999999999999999999999.999999999", "99999999999999999999999999999.999999999"), ("99999999999999999999999999999", "0.000000001"),
        ("10000000000000000000000000000", "10000000000000000000000000000"), ("10000000000000000000000000000", "0.000000000"),
        ("10000000000000000000000000000", "0.000000001"), ("9999999999999999999999999999", "1"), ("10000000000000000000000000001", "1"),
        ("10000000000000000000000000001", "0.000000001"), ("1000000000000000000000000001", "0.000000001"),
    )
    for left, right in itertools.product((3, 9, 14, 19, 20), (2, 8, 9, 14)):
        quantity = with_scale(digits_of(f"quantity {left} {right}", left), min(left, 9))
        rate = with_scale(digits_of(f"rate {left} {right}", right), min(right, 6))
        yield quantity, "-" + rate if int(rate[-1]) % 2 else rate


def differences():
    values = ("0", "1.5", "1.50", "-1.5", "0.000000001", "-0.01", "9999999999999999.99", "-9999999999999999.99", "7",
              "99999999999999999999999999999.999999999", "-99999999999999999999999999999.999999999", "18446744073709551616", "0.1")
    for left, right in itertools.product(values, values):
        difference = WIDE.subtract(Decimal(left), Decimal(right))
        yield {"left": left, "right": right, "difference": plain(difference), "equal": Decimal(left) == Decimal(right),
               "in_range": difference.copy_abs() < 10**29}


def encoded():
    """Bytes as others may write them: with spare sign bytes, or too many."""
    for number in (0, 1, -1, 127, 128, -128, -129, 10**38 - 1, -(10**38) + 1, 10**38, -(10**38), 2**127 - 1, -(2**127), 2**127, 2**130, -(2**130)):
        for spare in (0, 1, 5):
            size = (number + (number < 0)).bit_length() // 8 + 1 + spare
            row = {"bytes": number.to_bytes(size, "big", signed=True).hex(), "scale": 9}
            if abs(number) >= 10**38:
                yield row | {"refused": "out_of_range", "negative": number < 0}
            else:
                yield row | {"plain": plain(Decimal(number).scaleb(-9, WIDE))}
    yield {"bytes": "", "scale": 9, "refused": "not_a_decimal", "negative": False}
    for scale in (0, 2, 8):
        top = 10 ** (29 + scale)
        for number in (top - 1, -top + 1, top, -top):
            row = {"bytes": number.to_bytes(17, "big", signed=True).hex(), "scale": scale}
            if abs(number) >= top:
                yield row | {"refused": "out_of_range", "negative": number < 0}
            else:
                yield row | {"plain": plain(Decimal(number).scaleb(-scale, WIDE))}


def main():
    vectors = {
        "parse": [parsed(text) for text in texts()],
        "amount": [amount(q, r, mode) for q, r in products() for mode in MODES],
        "difference": list(differences()),
        "unscaled": list(encoded()),
    }
    sys.stdout.write("{\n")
    for i, (name, rows) in enumerate(vectors.items()):
        lines = ",\n".join("    " + json.dumps(row) for row in rows)
        sys.stdout.write(f'  "{name}": [\n{lines}\n  ]{"," if i + 1 < len(vectors) else ""}\n')
    sys.stdout.write("}\n")


main()
