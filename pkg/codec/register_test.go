package codec

import (
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/sr"
	"github.com/twmb/franz-go/pkg/sr/srfake"

	"github.com/tieout/tieout/schemas"
)

const subject = "recon.validate-value"

// levelOf asks the fake for a subject's compatibility.
func levelOf(t *testing.T, fake *srfake.Registry) sr.CompatibilityLevel {
	t.Helper()
	client, err := sr.NewClient(sr.URLs(fake.URL()))
	require.NoError(t, err)
	result := client.Compatibility(t.Context(), subject)[0]
	require.NoError(t, result.Err)
	return result.Level
}

func TestRegisterMakesASubjectOnceAndSetsItsCompatibility(t *testing.T) {
	fake, registry := fakeRegistry(t)
	first, created, err := registry.Register(t.Context(), subject, schemas.SalesEnvelope)
	require.NoError(t, err)
	require.True(t, created)
	require.Equal(t, sr.CompatBackwardTransitive, levelOf(t, fake))

	var writes atomic.Int32
	fake.Intercept(func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPut || r.URL.Path == "/subjects/"+subject+"/versions" {
			writes.Add(1)
		}
		return false
	})
	second, created, err := registry.Register(t.Context(), subject, schemas.SalesEnvelope)
	require.NoError(t, err)
	require.False(t, created)
	require.Equal(t, first, second)
	require.Zero(t, writes.Load(), "asking again writes nothing")

	text, err := registry.Schema(t.Context(), first)
	require.NoError(t, err)
	require.Equal(t, schemas.SalesEnvelope, text)
}

func TestRegisterPutsALowerCompatibilityRight(t *testing.T) {
	fake, registry := fakeRegistry(t)
	_, _, err := registry.Register(t.Context(), subject, schemas.SalesEnvelope)
	require.NoError(t, err)
	require.NoError(t, fake.SetCompat(subject, sr.CompatNone))
	_, created, err := registry.Register(t.Context(), subject, schemas.SalesEnvelope)
	require.NoError(t, err)
	require.False(t, created)
	require.Equal(t, sr.CompatBackwardTransitive, levelOf(t, fake))
}

func TestARegisteredVersionThatCouldNotBeReadBlocksTheNext(t *testing.T) {
	for name, c := range evolutions {
		t.Run(name, func(t *testing.T) {
			fake, registry := fakeRegistry(t)
			fake.SeedSchema(subject, 1, 11, sr.Schema{Schema: edited(t, func(tree, tree) {})})
			fake.SeedSchema(subject, 2, 12, sr.Schema{Schema: edited(t, c.edit)})
			id, created, err := registry.Register(t.Context(), subject, edited(t, func(e, _ tree) { e["doc"] = "newer" }))
			if c.refused == "" {
				require.NoError(t, err)
				require.True(t, created)
				require.Greater(t, id, 12)
				return
			}
			var refusal *IncompatibleSchemaError
			require.ErrorAs(t, err, &refusal)
			require.Equal(t, 2, refusal.Version)
			require.Contains(t, refusal.Why, c.refused)
			_, exists := fake.GetSchema(subject, 3)
			require.False(t, exists, "nothing is registered")
		})
	}
}

func TestANewVersionIsRefusedWhereItBreaksWhatOthersRelyOn(t *testing.T) {
	for name, c := range map[string]struct {
		edit    func(envelope, payload tree)
		version int
		refused string
	}{
		"drops a frozen field":           {func(_, p tree) { dropField(p, "currency") }, 1, "payload.currency is frozen and isn't written"},
		"defaults a frozen field":        {func(_, p tree) { fieldOf(p, "currency")["default"] = "EUR" }, 0, "payload.currency is frozen and has a default"},
		"aliases a frozen field":         {func(_, p tree) { fieldOf(p, "currency")["aliases"] = []any{"ccy"} }, 0, "payload.currency is frozen and has an alias"},
		"aliases any field":              {func(_, p tree) { fieldOf(p, "store_id")["aliases"] = []any{"shop"} }, 0, "payload.store_id has an alias, and aliases aren't followed"},
		"thaws a frozen field":           {func(_, p tree) { delete(fieldOf(p, "currency"), frozenAttribute) }, 1, "payload.currency is frozen and isn't marked so any more"},
		"thaws and defaults it":          {func(_, p tree) { f := fieldOf(p, "currency"); delete(f, frozenAttribute); f["default"] = "EUR" }, 1, "payload.currency is frozen and has a default"},
		"changes a scale":                {func(_, p tree) { fieldOf(p, "tier_rate")["type"] = decimalOf(38, 6) }, 1, "decimal(38,9)"},
		"adds a field without a default": {func(e, _ tree) { addField(e, `{"name": "note", "type": "string"}`) }, 1, "note isn't written and has no default"},
		"adds an array": {func(e, _ tree) {
			addField(e, `{"name": "x", "type": {"type": "array", "items": "int"}, "default": []}`)
		}, 0, "type array isn't read"},
		"drops a symbol with its default": {func(e, _ tree) {
			typ := fieldOf(e, "queue_tier")["type"].(tree)
			delete(typ, "default")
			typ["symbols"] = []any{"compute_heavy"}
		}, 1, "queue_tier is written with symbol fast_path"},
	} {
		t.Run(name, func(t *testing.T) {
			fake, registry := fakeRegistry(t)
			fake.SeedSchema(subject, 1, 11, sr.Schema{Schema: schemas.SalesEnvelope})
			_, _, err := registry.Register(t.Context(), subject, edited(t, c.edit))
			var refusal *IncompatibleSchemaError
			require.ErrorAs(t, err, &refusal)
			require.Equal(t, c.version, refusal.Version)
			require.Contains(t, refusal.Error(), c.refused)
			require.Contains(t, refusal.Error(), subject)
		})
	}
}

func TestAFieldWithADefaultAndANewlyFrozenOneMayBeAdded(t *testing.T) {
	fake, registry := fakeRegistry(t)
	fake.SeedSchema(subject, 1, 11, sr.Schema{Schema: schemas.SalesEnvelope})
	_, created, err := registry.Register(t.Context(), subject, edited(t, func(e, p tree) {
		addField(e, `{"name": "note", "type": "string", "default": ""}`)
		fieldOf(p, "transaction_date")[frozenAttribute] = true
	}))
	require.NoError(t, err)
	require.True(t, created)
}

func TestARegistryThatRefusesTheSchemaIsNoOutage(t *testing.T) {
	for _, status := range []int{http.StatusConflict, http.StatusUnprocessableEntity} {
		fake, registry := fakeRegistry(t)
		fake.Intercept(func(w http.ResponseWriter, r *http.Request) bool {
			if r.Method != http.MethodPost || r.URL.Path != "/subjects/"+subject+"/versions" {
				return false
			}
			w.WriteHeader(status)
			_, _ = w.Write([]byte(`{"error_code": 409, "message": "Schema being registered\nis incompatible"}`)) // the client reads it
			return true
		})
		_, _, err := registry.Register(t.Context(), subject, schemas.SalesEnvelope)
		var refusal *IncompatibleSchemaError
		require.ErrorAs(t, err, &refusal)
		require.Equal(t, "the registry says: Schema being registered is incompatible", refusal.Why)
	}
}

func TestRegisterTellsEachFailureOfTheRegistry(t *testing.T) {
	for _, path := range []string{"/config/" + subject, "/subjects/" + subject, "/subjects/" + subject + "/versions", "/subjects/" + subject + "/versions/1"} {
		for _, method := range []string{http.MethodGet, http.MethodPut, http.MethodPost} {
			fake, registry := fakeRegistry(t)
			fake.SeedSchema(subject, 1, 11, sr.Schema{Schema: schemas.SalesEnvelope})
			var failed atomic.Bool
			fake.Intercept(func(w http.ResponseWriter, r *http.Request) bool {
				if r.Method != method || r.URL.Path != path {
					return false
				}
				failed.Store(true)
				w.WriteHeader(http.StatusInternalServerError)
				return true
			})
			_, _, err := registry.Register(t.Context(), subject, edited(t, func(e, _ tree) { e["doc"] = "newer" }))
			if failed.Load() {
				requireOutage(t, err, "subject "+subject, "answered 500")
			} else {
				require.NoError(t, err, "%s %s", method, path)
			}
		}
	}
}
