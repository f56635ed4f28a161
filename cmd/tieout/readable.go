package main

import (
	"fmt"
	"net/url"
	"os"
	"strings"

	"github.com/tieout/tieout/pkg/producer"
)

// checkReadable refuses a path of the user's that is no regular file, nor leads
// to one. It comes before the path is opened: to open a pipe would wait for a
// writer, whom no signal ends, and what a device holds never ends. That there is
// nothing is said by whoever opens it.
func checkReadable(path string) error {
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		return &producer.FileError{Path: path, Err: producer.ErrNotRegular}
	}
	return nil
}

// checkDatabaseFiles does the same for the files that a connection's parameters
// name, which the client opens as soon as it reads the address.
func checkDatabaseFiles(connection string) error {
	parameter := pairParameter
	if strings.Contains(connection, "://") {
		parameter = urlParameter
	}
	for _, name := range []string{"sslrootcert", "sslcert", "sslkey", "passfile", "servicefile"} {
		if path := parameter(connection, name); path != "" {
			if err := checkReadable(path); err != nil {
				return fmt.Errorf("database-url: %s: %w", name, err)
			}
		}
	}
	return nil
}

// urlParameter is empty where there is none. That the URL can't be read is said
// by whoever connects.
func urlParameter(connection, name string) string {
	parsed, err := url.Parse(connection)
	if err != nil {
		return ""
	}
	return parsed.Query().Get(name)
}

func pairParameter(connection, name string) (value string) {
	for _, found := range pair().FindAllStringSubmatch(connection, -1) {
		if found[2] == name {
			value = strings.Trim(found[4], "'")
		}
	}
	return strings.ReplaceAll(value, `\`, "")
}
