// Command flanneld is upstream's flannel with what a cluster of KQueen's asks of it: leases kept in the Kubernetes
// API and the VXLAN backend, for IPv4.
//
//	flanneld -node-ip ADDRESS              joins the node, named by NODE_NAME, to the network and stays
//	flanneld install-plugins FROM TO       copies CNI plugins that the machine lacks, and ends
//	flanneld -version
//
// Upstream's program has nine further backends, for clouds and for other kernels, and calls iptables or nft. This one
// writes its one rule itself, and the network configuration (CNI) of the machine too: upstream leaves
// that to a plugin of another project, which asks for the same subnet and MTU at every pod. So its image holds no
// foreign program, and the container needs the capability NET_ADMIN alone.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"os/signal"
	"runtime/debug"
	"sync"

	"github.com/flannel-io/flannel/pkg/backend"
	"github.com/flannel-io/flannel/pkg/backend/vxlan"
	"github.com/flannel-io/flannel/pkg/ip"
	"github.com/flannel-io/flannel/pkg/ipmatch"
	"github.com/flannel-io/flannel/pkg/subnet"
	"github.com/flannel-io/flannel/pkg/subnet/kube"
	"golang.org/x/sys/unix"
	"k8s.io/klog/v2"
)

// upstream is the module whose version is that of this program.
const upstream = "github.com/flannel-io/flannel"

// annotations is what flannel's annotations of nodes begin with. Upstream's, so that either program finds the
// other's leases.
const annotations = "flannel.alpha.coreos.com"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), unix.SIGINT, unix.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "flanneld:", err)
		os.Exit(1)
	}
}

// options are the flags.
type options struct {
	version                                           bool
	nodeIP, netConf, subnetFile, cniConf, readyListen string
}

func run(ctx context.Context, args []string) error {
	var o options
	flags := flag.NewFlagSet("flanneld", flag.ContinueOnError)
	flags.BoolVar(&o.version, "version", false, "print the version and end")
	flags.StringVar(&o.nodeIP, "node-ip", "", "address of this machine, at which the other machines send it packets")
	flags.StringVar(&o.netConf, "net-conf", "/etc/kube-flannel/net-conf.json", "file with the network's range and backend")
	flags.StringVar(&o.subnetFile, "subnet-file", "/run/flannel/subnet.env", "file to write for others who look for flannel's subnet")
	flags.StringVar(&o.cniConf, "cni-conf", "/etc/cni/net.d/10-flannel.conflist", "file to write the machine's network configuration to")
	flags.StringVar(&o.readyListen, "ready-listen", "127.0.0.1:10245", "address that answers \"GET /readyz\" once the network is there")
	if err := flags.Parse(args); err != nil {
		return err
	}
	switch rest := flags.Args(); {
	case o.version:
		fmt.Println("flannel", version())
		return nil
	case len(rest) == 3 && rest[0] == "install-plugins":
		return installPlugins(rest[1], rest[2])
	case len(rest) > 0:
		return fmt.Errorf("%q is not understood: give flags, or install-plugins with two folders", rest)
	case net.ParseIP(o.nodeIP).To4() == nil:
		return fmt.Errorf("-node-ip: %q is not an IPv4 address; give the machine's", o.nodeIP)
	}
	return serve(ctx, o)
}

// version is that of the module, which the linker records.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	for _, m := range info.Deps {
		if m.Path == upstream {
			return m.Version
		}
	}
	return "unknown"
}

// serve joins the node to the network and follows the other nodes until ctx ends. What it has made stays:
// pods go on talking while nobody follows.
func serve(ctx context.Context, o options) error {
	ready, err := listenReady(o.readyListen)
	if err != nil {
		return err
	}
	defer ready.close()
	leases, err := kube.NewSubnetManager(ctx, "", "", annotations, o.netConf, true)
	if err != nil {
		return err
	}
	config, err := leases.GetNetworkConfig(ctx)
	if err != nil {
		return fmt.Errorf("read %s: %w", o.netConf, err)
	}
	var running sync.WaitGroup
	network, err := join(ctx, &running, leases, config, o.nodeIP)
	if err != nil {
		return err
	}
	running.Go(func() { network.Run(ctx) })
	own := network.Lease().Subnet
	if err := masquerade(prefix(own), prefix(config.Network)); err != nil {
		return fmt.Errorf("hide pods behind the machine's address: %w", err)
	}
	if err := leases.HandleSubnetFile(o.subnetFile, config, true, own, ip.IP6Net{}, network.MTU()); err != nil {
		return fmt.Errorf("write %s: %w", o.subnetFile, err)
	}
	// Last: when it is there, the node is ready and gets pods.
	if err := writeConf(o.cniConf, prefix(own), network.MTU()); err != nil {
		return fmt.Errorf("write the network configuration: %w", err)
	}
	if err := leases.CompleteLease(ctx, network.Lease(), &running); err != nil && ctx.Err() == nil {
		return fmt.Errorf("say that the node's network is available: %w", err)
	}
	ready.now()
	klog.InfoS("The node's network is there", "subnet", own.String(), "mtu", network.MTU())
	running.Wait()
	return nil
}

// join makes the device and takes the subnet that the node has.
func join(ctx context.Context, running *sync.WaitGroup, leases subnet.Manager, config *subnet.Config, nodeIP string) (backend.Network, error) {
	if config.BackendType != "vxlan" || !config.EnableIPv4 || config.EnableIPv6 {
		return nil, fmt.Errorf("backend %q (IPv4 %v, IPv6 %v) is not in this program: it has vxlan for IPv4",
			config.BackendType, config.EnableIPv4, config.EnableIPv6)
	}
	family, err := ipmatch.GetIPFamily(true, false)
	if err != nil {
		return nil, err
	}
	link, err := ipmatch.LookupExtIface(nodeIP, "", "", family, ipmatch.PublicIPOpts{})
	if err != nil {
		return nil, fmt.Errorf("find the interface that has %s: %w", nodeIP, err)
	}
	made, err := vxlan.New(leases, link)
	if err != nil {
		return nil, err
	}
	network, err := made.RegisterNetwork(ctx, running, config)
	if err != nil {
		return nil, err
	}
	if network.Lease().Subnet.Empty() {
		return nil, errors.New("the node has no range of IPv4 addresses for pods (spec.podCIDR)")
	}
	return network, nil
}
