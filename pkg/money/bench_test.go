package money

import "testing"

func benchmarkAmount(b *testing.B, quantity, rate string) {
	b.Helper()
	q, r := MustParse(quantity), MustParse(rate)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Amount(q, r, HalfUp); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAmount(b *testing.B)      { benchmarkAmount(b, "347.000000000", "0.446300000") }
func BenchmarkAmount_Long(b *testing.B) { benchmarkAmount(b, "12345678.123456789", "0.987654321") }
func BenchmarkAmount_Large(b *testing.B) {
	benchmarkAmount(b, "100000000000.500000000", "10.000000000")
}

func BenchmarkFromUnscaled(b *testing.B) {
	bytes, err := MustParse("347.446300000").AppendUnscaled(nil, MaxScale)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := FromUnscaled(bytes, MaxScale); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAppendUnscaled(b *testing.B) {
	d, buffer := MustParse("347.4463"), make([]byte, 0, coefficientBytes)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := d.AppendUnscaled(buffer, MaxScale); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSub(b *testing.B) {
	d, o := MustParse("155.066300000"), MustParse("155.07")
	b.ReportAllocs()
	for b.Loop() {
		if d.Sub(o).Sign() == 0 {
			b.Fatal("equal")
		}
	}
}

func BenchmarkEqual(b *testing.B) {
	d, o := MustParse("155.070000000"), MustParse("155.07")
	b.ReportAllocs()
	for b.Loop() {
		if !d.Equal(o) {
			b.Fatal("not equal")
		}
	}
}

func BenchmarkParse(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Parse("12345678.123456789"); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkString(b *testing.B) {
	d := MustParse("12345678.123456789")
	b.ReportAllocs()
	for b.Loop() {
		_ = d.String()
	}
}
