package reconcile

import (
	"testing"

	"github.com/tieout/tieout/pkg/devstack"
)

func TestMain(m *testing.M) { devstack.Main(m) }
