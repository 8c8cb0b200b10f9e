// Package freeport finds ports for what tests and benchmarks start.
//
// It hides where they are looked for: below those that the kernel gives by itself to whatever listens or connects, which would have one
// before the program that it was found for listens, and above those that KQueen reserves.
package freeport

import (
	"errors"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
)

const (
	first = 30000
	count = 2700
)

// taken are the ports that this program was given: none is given twice.
var taken sync.Map

// Take returns a TCP port of the loopback address at which nothing listens.
func Take() (int, error) {
	for range count {
		port := first + rand.IntN(count) //nolint:gosec // any port will do
		if _, again := taken.LoadOrStore(port, true); again {
			continue
		}
		if l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port))); err == nil {
			return port, l.Close()
		}
	}
	return 0, errors.New("no free port")
}

// TakeSeveral returns so many different ports like that.
func TakeSeveral(n int) ([]int, error) {
	var ports []int
	for range n {
		port, err := Take()
		if err != nil {
			return nil, err
		}
		ports = append(ports, port)
	}
	return ports, nil
}
