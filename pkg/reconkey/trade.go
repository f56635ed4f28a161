package reconkey

// Trade returns the reconciliation key of a trade, which all its versions share.
func Trade(nodeID, settlementInterval, tradeID string) Key {
	return Identity{
		Text("node_id", nodeID),
		Text("settlement_interval", settlementInterval),
		Text("trade_id", tradeID),
	}.Key()
}

// TradeVersion returns the idempotency key of one version of a trade.
func TradeVersion(nodeID, settlementInterval, tradeID string, version int64) Key {
	return Identity{
		Text("node_id", nodeID),
		Text("settlement_interval", settlementInterval),
		Text("trade_id", tradeID),
		Integer("version", version),
	}.Key()
}
