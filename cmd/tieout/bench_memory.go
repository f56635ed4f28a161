package main

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// memoryEvery is how often a process's high-water mark is read: what it adds
// in its last moments is missed.
const memoryEvery = 20 * time.Millisecond

// watchMemory reads the high-water mark of a process's resident memory until
// ctx ends, or the process does. It returns 0 where the system doesn't tell.
//
// What wait(2) says of a child would be simpler, and is wrong on Linux: it
// counts what the parent had when it started the child.
func watchMemory(ctx context.Context, pid int) (peak int64) {
	ticker := time.NewTicker(memoryEvery)
	defer ticker.Stop()
	for {
		peak = max(peak, highWater(pid))
		select {
		case <-ctx.Done():
			return peak
		case <-ticker.C:
		}
	}
}

// highWater reads VmHWM, in bytes.
func highWater(pid int) int64 {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		if value, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kibibytes, _, _ := strings.Cut(strings.TrimSpace(value), " ")
			n, err := strconv.ParseInt(kibibytes, 10, 64)
			if err != nil {
				return 0
			}
			return n << 10
		}
	}
	return 0
}

// maxResident is what wait(2) says, in bytes: for systems without /proc.
func maxResident(state *os.ProcessState) int64 {
	usage, ok := state.SysUsage().(*syscall.Rusage)
	switch {
	case !ok:
		return 0
	case runtime.GOOS == "darwin":
		return int64(usage.Maxrss) //nolint:unconvert // an int32 on some systems
	default:
		return int64(usage.Maxrss) << 10 //nolint:unconvert // an int32 on some systems
	}
}
