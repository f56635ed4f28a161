package producer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
)

// Vendors are the vendors that claims may come from; nil lets every vendor
// claim.
type Vendors map[string]struct{}

// vendorColumn is what the column of vendors is called, in a file of vendors as
// in one of claims.
const vendorColumn = "vendor_id"

// ReadVendors reads a file of vendors: CSV with a column vendor_id, or one
// vendor a line without a header.
func ReadVendors(ctx context.Context, path string) (vendors Vendors, err error) {
	file, err := OpenFile(ctx, path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()

	lines, err := file.Lines(Columns{})
	if err != nil {
		return nil, err
	}
	vendors = make(Vendors)
	column := slices.Index(lines.Columns(), vendorColumn)
	if column < 0 {
		// The first line is a vendor itself.
		if len(lines.Columns()) != 1 {
			return nil, file.failed(&HeaderError{"lacks the column " + vendorColumn + ": want it, or one vendor a line"})
		}
		column = 0
		vendors[lines.Columns()[0]] = struct{}{}
	}
	for {
		line, err := lines.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, file.failed(err)
		}
		if line.Failure != nil {
			return nil, file.failed(fmt.Errorf("line %d: %s", line.Number, line.Failure.Value))
		}
		vendors[line.Original[column]] = struct{}{}
	}
	delete(vendors, "")
	if len(vendors) == 0 {
		return nil, file.failed(ErrNoVendors)
	}
	return vendors, nil
}
