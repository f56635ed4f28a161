package devstack

import (
	"archive/tar"
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"

	"github.com/ulikunitz/xz"
)

// maxUnpackedBytes bounds what a build unpacks to: the largest pinned one has
// 120 MB.
const maxUnpackedBytes = 512 << 20

// unpackJar unpacks the archive that a build's jar holds: tar, compressed by xz.
func unpackJar(ctx context.Context, jar, into string) error {
	archive, err := zip.OpenReader(jar)
	if err != nil {
		return err
	}
	defer func() { _ = archive.Close() }() // only read
	for _, entry := range archive.File {
		if path.Ext(entry.Name) != ".txz" {
			continue
		}
		packed, err := entry.Open()
		if err != nil {
			return err
		}
		defer func() { _ = packed.Close() }() // only read
		return unpackTxz(ctx, packed, into)
	}
	return errors.New("the jar of Postgres holds no archive")
}

func unpackTxz(ctx context.Context, packed io.Reader, into string) (err error) {
	plain, err := xz.NewReader(packed)
	if err != nil {
		return err
	}
	if err := os.Mkdir(into, 0o755); err != nil {
		return err
	}
	// Nothing is written outside of the root, whatever names and links say.
	root, err := os.OpenRoot(into)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	entries := tar.NewReader(io.LimitReader(plain, maxUnpackedBytes))
	for {
		header, err := entries.Next()
		if errors.Is(err, io.EOF) {
			return openFolders(root)
		}
		if err == nil {
			err = unpackEntry(root, header, entries)
		}
		if err = errors.Join(err, context.Cause(ctx)); err != nil {
			return fmt.Errorf("unpacking Postgres: %w", err)
		}
	}
}

func unpackEntry(root *os.Root, header *tar.Header, content io.Reader) error {
	name := path.Clean(header.Name)
	if err := root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
	}
	switch header.Typeflag {
	case tar.TypeDir:
		return root.MkdirAll(name, 0o755)
	case tar.TypeSymlink:
		return root.Symlink(header.Linkname, name)
	case tar.TypeReg:
		return unpackFile(root, name, header.FileInfo().Mode().Perm()|0o444, content)
	default:
		return fmt.Errorf("%s is of an unknown type %q", name, header.Typeflag)
	}
}

func unpackFile(root *os.Root, name string, mode os.FileMode, content io.Reader) error {
	file, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, content)
	return errors.Join(err, file.Chmod(mode), file.Close())
}

// openFolders lets everyone enter them, whatever the umask is: as root, another
// account runs what is in them.
func openFolders(root *os.Root) error {
	return fs.WalkDir(root.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return err
		}
		return root.Chmod(name, 0o755)
	})
}
