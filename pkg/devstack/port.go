package devstack

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"syscall"
)

// loopback is where everything listens: nothing here is for other machines.
const loopback = "127.0.0.1"

func validatePort(service string, port int) error {
	if port < 0 || port > 65535 {
		return fmt.Errorf("the port %d for %s isn't between 0 and 65535", port, service)
	}
	return nil
}

// freePort returns the port if it's free, or any free one for 0.
func freePort(ctx context.Context, service string, port int) (int, error) {
	listener, err := listen(ctx, service, port)
	if err != nil {
		return 0, err
	}
	port, err = portOf(listener.Addr().String())
	return port, errors.Join(err, listener.Close())
}

// listen listens on the loopback port, or on any free one for 0.
func listen(ctx context.Context, service string, port int) (net.Listener, error) {
	return listenOn(ctx, service, net.JoinHostPort(loopback, strconv.Itoa(port)))
}

func listenOn(ctx context.Context, service, address string) (net.Listener, error) {
	port, err := portOf(address)
	if err != nil {
		return nil, err
	}
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, &PortInUseError{Service: service, Port: port}
	}
	return listener, err
}

func portOf(address string) (int, error) {
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(port)
}
