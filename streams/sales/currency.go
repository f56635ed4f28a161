package sales

// twoMinorDigits tells whether code is an ISO 4217 currency whose minor unit
// has two digits: the only ones whose amounts the ledger's numeric(18,2) keeps
// as they are. Codes are upper case.
//
// The codes are those with minor unit 2 in ISO 4217 list one (active codes) as
// its maintenance agency, SIX Group, published it on 2026-01-01;
// testdata/iso4217.csv has the whole list.
func twoMinorDigits(code string) bool {
	switch code {
	case "AED", "AFN", "ALL", "AMD", "AOA", "ARS", "AUD", "AWG", "AZN",
		"BAM", "BBD", "BDT", "BMD", "BND", "BOB", "BOV", "BRL", "BSD", "BTN", "BWP", "BYN", "BZD",
		"CAD", "CDF", "CHE", "CHF", "CHW", "CNY", "COP", "COU", "CRC", "CUP", "CVE", "CZK",
		"DKK", "DOP", "DZD",
		"EGP", "ERN", "ETB", "EUR",
		"FJD", "FKP",
		"GBP", "GEL", "GHS", "GIP", "GMD", "GTQ", "GYD",
		"HKD", "HNL", "HTG", "HUF",
		"IDR", "ILS", "INR", "IRR",
		"JMD",
		"KES", "KGS", "KHR", "KPW", "KYD", "KZT",
		"LAK", "LBP", "LKR", "LRD", "LSL",
		"MAD", "MDL", "MGA", "MKD", "MMK", "MNT", "MOP", "MRU", "MUR", "MVR", "MWK", "MXN", "MXV", "MYR", "MZN",
		"NAD", "NGN", "NIO", "NOK", "NPR", "NZD",
		"PAB", "PEN", "PGK", "PHP", "PKR", "PLN",
		"QAR",
		"RON", "RSD", "RUB",
		"SAR", "SBD", "SCR", "SDG", "SEK", "SGD", "SHP", "SLE", "SOS", "SRD", "SSP", "STN", "SVC", "SYP", "SZL",
		"THB", "TJS", "TMT", "TOP", "TRY", "TTD", "TWD", "TZS",
		"UAH", "USD", "USN", "UYU", "UZS",
		"VED", "VES",
		"WST",
		"XAD", "XCD", "XCG",
		"YER",
		"ZAR", "ZMW", "ZWG":
		return true
	}
	return false
}
