package main

import (
	"encoding/json"
	"net/netip"
	"os"
	"path/filepath"

	"github.com/flannel-io/flannel/pkg/ip"
)

// prefix is a subnet of flannel's as everybody else writes it.
func prefix(n ip.IP4Net) netip.Prefix {
	address, _ := netip.AddrFromSlice(n.IP.ToIP().To4())
	return netip.PrefixFrom(address, int(n.PrefixLen)).Masked()
}

// conf is a list of CNI plugins (https://www.cni.dev/docs/spec/#configuration-format): a bridge for the pods of
// this machine, and the ports of the machine that pods ask for. The bridge hides no addresses (ipMasq): by
// its rule a pod would be hidden from the pods of other machines too.
func conf(pods netip.Prefix, mtu int) ([]byte, error) {
	type object = map[string]any
	return json.MarshalIndent(object{
		"cniVersion": "1.0.0",
		"name":       "cbr0",
		"plugins": []object{
			{
				"type": "bridge", "bridge": "cni0", "mtu": mtu,
				"isGateway": true, "isDefaultGateway": true, "hairpinMode": true, "ipMasq": false,
				"ipam": object{"type": "host-local", "ranges": [][]object{{{"subnet": pods.String()}}}},
			},
			{"type": "portmap", "capabilities": object{"portMappings": true}},
		},
	}, "", "  ")
}

// writeConf writes the configuration so that nobody reads half of it.
func writeConf(file string, pods netip.Prefix, mtu int) error {
	data, err := conf(pods, mtu)
	if err != nil {
		return err
	}
	return replace(file, append(data, '\n'), 0o644)
}

// replace makes a file, or puts another in its place, at once. The name in between begins with a dot and has no
// ending that a container runtime looks for.
func replace(file string, data []byte, mode os.FileMode) error {
	temporary, err := os.CreateTemp(filepath.Dir(file), "."+filepath.Base(file)+"-")
	if err != nil {
		return err
	}
	_, err = temporary.Write(data)
	if err == nil {
		err = temporary.Chmod(mode)
	}
	if err == nil {
		err = temporary.Sync() // a machine that loses power must not come back with an empty file
	}
	if closed := temporary.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(temporary.Name(), file)
	}
	if err != nil {
		_ = os.Remove(temporary.Name())
	}
	return err
}
