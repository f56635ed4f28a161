package reconkey

import (
	"encoding/hex"
	"encoding/json"
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// vectors are what Python's hashlib and json.dumps say;
// testdata/make_vectors.py makes them.
type vectors struct {
	Sales []struct {
		Parts       [4]hexText
		Key         string
		SeparatorIn string `json:"separator_in"`
	}
	Trades []struct {
		NodeID             hexText `json:"node_id"`
		SettlementInterval hexText `json:"settlement_interval"`
		TradeID            hexText `json:"trade_id"`
		Version            int64
		Key                string
		VersionKey         string `json:"version_key"`
	}
	Identities []struct {
		Members [][3]string // hexadecimal name, kind, value
		JSON    string
		Key     string
	}
}

// hexText is text that stands in a file as hexadecimal.
type hexText string

func (h *hexText) UnmarshalText(text []byte) error {
	b, err := hex.DecodeString(string(text))
	*h = hexText(b)
	return err
}

func readVectors(t *testing.T) vectors {
	t.Helper()
	text, err := os.ReadFile("testdata/keys.json")
	require.NoError(t, err)
	var v vectors
	require.NoError(t, json.Unmarshal(text, &v))
	require.Greater(t, len(v.Sales), 200)
	require.Greater(t, len(v.Trades), 200)
	require.Greater(t, len(v.Identities), 100)
	return v
}

func TestSales_IsPythonsDigestOfTheJoinedParts(t *testing.T) {
	for _, v := range readVectors(t).Sales {
		key, err := Sales(string(v.Parts[0]), string(v.Parts[1]), string(v.Parts[2]), string(v.Parts[3]))
		if v.SeparatorIn != "" {
			var separatorError *SeparatorError
			require.ErrorAs(t, err, &separatorError, "%q", v.Parts)
			require.Equal(t, v.SeparatorIn, separatorError.Part, "%q", v.Parts)
			require.Contains(t, separatorError.Value, "|")
			require.Contains(t, err.Error(), v.SeparatorIn)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, v.Key, key.Hex(), "%q", v.Parts)
		require.Equal(t, v.Key, string(key.AppendHex(nil)))
		parsed, err := ParseHex(v.Key)
		require.NoError(t, err)
		require.Equal(t, key, parsed)
	}
}

func TestTrade_IsPythonsDigestOfCanonicalJSON(t *testing.T) {
	for _, v := range readVectors(t).Trades {
		node, interval, trade := string(v.NodeID), string(v.SettlementInterval), string(v.TradeID)
		require.Equal(t, v.Key, Trade(node, interval, trade).Hex(), "%q", v.NodeID)
		require.Equal(t, v.VersionKey, TradeVersion(node, interval, trade, v.Version).Hex(), "%q", v.NodeID)
	}
}

func TestIdentity_IsWrittenAsPythonWritesIt(t *testing.T) {
	for _, v := range readVectors(t).Identities {
		id := Identity{}
		for _, m := range v.Members {
			name, err := hex.DecodeString(m[0])
			require.NoError(t, err)
			switch m[1] {
			case "text":
				value, err := hex.DecodeString(m[2])
				require.NoError(t, err)
				id = append(id, Text(string(name), string(value)))
			case "integer":
				value, err := strconv.ParseInt(m[2], 10, 64)
				require.NoError(t, err)
				id = append(id, Integer(string(name), value))
			default:
				id = append(id, Null(string(name)))
			}
		}
		require.Equal(t, v.JSON, string(id.AppendJSON(nil)))
		require.Equal(t, v.Key, id.Key().Hex(), v.JSON)
	}
}
