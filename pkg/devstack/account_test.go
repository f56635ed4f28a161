package devstack

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAccount_TellsTheFolderThatItMayNotEnter(t *testing.T) {
	closed := filepath.Join(openDir(t), "closed")
	inside := filepath.Join(closed, "inside")
	require.NoError(t, os.MkdirAll(inside, 0o755))
	require.NoError(t, os.Chmod(closed, 0o700))
	stranger := &account{name: "stranger", uid: 4242, gid: 4242}

	err := stranger.checkReach(inside)

	require.Equal(t, &ClosedFolderError{Dir: closed, Wanted: inside, Account: "stranger"}, err)
	require.NoError(t, os.Chmod(closed, 0o711))
	require.NoError(t, stranger.checkReach(inside))
}

func TestAccount_OfAnOrdinaryUserIsNone(t *testing.T) {
	account, err := unprivilegedAccount()
	require.NoError(t, err)
	require.Equal(t, os.Geteuid() == 0, account != nil)
}
