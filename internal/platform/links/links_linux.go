package links

import (
	"errors"
	"fmt"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// Network is one in which links are found; [Here] is that of the caller.
type Network interface {
	LinkByName(name string) (netlink.Link, error)
	LinkDel(link netlink.Link) error
}

// Here is the network of the calling thread.
func Here() Network { return &netlink.Handle{} }

// Remove removes a link. One that is not there is no error.
func Remove(from Network, name string) error {
	link, err := from.LinkByName(name)
	if err == nil {
		err = from.LinkDel(link)
	}
	if _, missing := errors.AsType[netlink.LinkNotFoundError](err); missing || errors.Is(err, unix.ENODEV) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("remove network interface %s: %w", name, err)
	}
	return nil
}
