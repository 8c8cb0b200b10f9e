package addresses

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"slices"
	"sync"

	"github.com/mdlayher/arp"
	"github.com/mdlayher/ethernet"
	"k8s.io/klog/v2"
)

// responder answers ARP requests for addresses on an interface, with its hardware address: the packets then come to this machine,
// whose kube-proxy knows the Service. The addresses are not the machine's own.
type responder struct {
	client   *arp.Client
	hardware net.HardwareAddr

	mu      sync.Mutex
	answers map[netip.Addr]bool
}

// listen returns a responder on the interface that has an address of this machine, and the network of that address. It needs raw
// sockets.
func listen(own netip.Addr) (*responder, netip.Prefix, error) {
	all, err := net.Interfaces()
	if err != nil {
		return nil, netip.Prefix{}, fmt.Errorf("list the interfaces: %w", err)
	}
	for i := range all {
		network, ok := networkOf(&all[i], own)
		if !ok {
			continue
		}
		client, err := arp.Dial(&all[i])
		if err != nil {
			return nil, netip.Prefix{}, fmt.Errorf("listen for ARP on %s: %w", all[i].Name, err)
		}
		return &responder{client: client, hardware: all[i].HardwareAddr, answers: map[netip.Addr]bool{}}, network, nil
	}
	return nil, netip.Prefix{}, fmt.Errorf("no interface has the node's address %s", own)
}

func networkOf(i *net.Interface, own netip.Addr) (netip.Prefix, bool) {
	addresses, err := i.Addrs()
	if err != nil {
		return netip.Prefix{}, false // it is gone
	}
	for _, a := range addresses {
		if p, err := netip.ParsePrefix(a.String()); err == nil && p.Addr() == own {
			return p, true
		}
	}
	return netip.Prefix{}, false
}

// run answers until the context ends.
func (r *responder) run(ctx context.Context) error {
	defer context.AfterFunc(ctx, func() { _ = r.client.Close() })()
	for {
		request, _, err := r.client.Read()
		switch {
		case ctx.Err() != nil:
			return nil // that was what ended it
		case errors.Is(err, net.ErrClosed):
			return err
		case err != nil:
			return fmt.Errorf("read ARP requests: %w", err)
		case request.Operation != arp.OperationRequest || !r.answersFor(request.TargetIP):
			continue
		}
		if err := r.client.Reply(request, r.hardware, request.TargetIP); err != nil {
			klog.ErrorS(err, "An ARP request was not answered", "address", request.TargetIP)
		}
	}
}

func (r *responder) answersFor(a netip.Addr) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.answers[a]
}

// set says for which addresses it answers from now on, and tells the network of those that are new: another node may have answered
// for them before.
func (r *responder) set(all []netip.Addr) error {
	r.mu.Lock()
	was := r.answers
	r.answers = map[netip.Addr]bool{}
	for _, a := range all {
		r.answers[a] = true
	}
	now := maps.Clone(r.answers)
	r.mu.Unlock()
	var fresh []netip.Addr
	for a := range now {
		if !was[a] {
			fresh = append(fresh, a)
		}
	}
	slices.SortFunc(fresh, netip.Addr.Compare)
	return r.announce(fresh)
}

// announce sends gratuitous ARP, in both forms: some systems take notice of one of them alone (RFC 5944, 4.6).
func (r *responder) announce(all []netip.Addr) error {
	for _, a := range all {
		for _, operation := range []arp.Operation{arp.OperationRequest, arp.OperationReply} {
			packet, err := arp.NewPacket(operation, r.hardware, a, ethernet.Broadcast, a)
			if err == nil {
				err = r.client.WriteTo(packet, ethernet.Broadcast)
			}
			if err != nil {
				return fmt.Errorf("announce %s by ARP: %w", a, err)
			}
		}
		klog.InfoS("This node answers for an address", "address", a)
	}
	return nil
}
