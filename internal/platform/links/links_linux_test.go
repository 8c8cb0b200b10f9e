package links

import (
	"errors"
	"testing"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// network finds or removes as it is told.
type network struct{ find, remove error }

func (n network) LinkByName(string) (netlink.Link, error) { return &netlink.Dummy{}, n.find }
func (n network) LinkDel(netlink.Link) error              { return n.remove }

// TestRemove: a link that is gone, or goes meanwhile, is removed; another trouble is told.
func TestRemove(t *testing.T) {
	for name, tc := range map[string]struct {
		of   network
		want error
	}{
		"There":         {network{}, nil},
		"GoesMeanwhile": {network{remove: unix.ENODEV}, nil},
		"Gone":          {network{find: netlink.LinkNotFoundError{}}, nil},
		"GoneByNumber":  {network{find: unix.ENODEV}, nil},
		"MayNot":        {network{remove: unix.EPERM}, unix.EPERM},
		"MayNotLook":    {network{find: unix.EPERM, remove: unix.ENODEV}, unix.EPERM},
	} {
		t.Run(name, func(t *testing.T) {
			if err := Remove(tc.of, "veth0"); !errors.Is(err, tc.want) {
				t.Errorf("got %v, want %v", err, tc.want)
			}
		})
	}
	if err := Remove(Here(), "kq-never-there"); err != nil {
		t.Error(err)
	}
}
