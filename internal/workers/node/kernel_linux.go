package node

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

const kernelSettings = "/proc/sys/"

// kernel is what kubeadm asks of every node: packets are forwarded between pods, and those that stay on one
// bridge pass the rules of Services too.
func kernel() []string {
	return []string{
		"net/ipv4/ip_forward", "net/ipv6/conf/all/forwarding",
		"net/bridge/bridge-nf-call-iptables", "net/bridge/bridge-nf-call-ip6tables",
	}
}

// SetKernel sets what the kernel has to do for pods.
func SetKernel() error {
	for _, name := range kernel() {
		if err := setKernel(name, "1"); err != nil {
			return err
		}
	}
	return nil
}

// Kernel reads the settings that [SetKernel] changes, for [RestoreKernel].
func Kernel() (map[string]string, error) {
	have := map[string]string{}
	for _, name := range kernel() {
		data, err := os.ReadFile(kernelSettings + name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", name, err)
		}
		have[name] = strings.TrimSpace(string(data))
	}
	return have, nil
}

// RestoreKernel sets what [SetKernel] has changed back to what was read before.
func RestoreKernel(before map[string]string) error {
	for _, name := range kernel() {
		if value, known := before[name]; known {
			if err := setKernel(name, value); err != nil {
				return err
			}
		}
	}
	return nil
}

// setKernel leaves a setting alone that is right: it may be one that cannot be written.
func setKernel(name, value string) error {
	have, err := os.ReadFile(kernelSettings + name)
	if errors.Is(err, fs.ErrNotExist) { // a kernel without IPv6 or bridge filters
		return nil
	}
	if err == nil && strings.TrimSpace(string(have)) != value {
		err = os.WriteFile(kernelSettings+name, []byte(value), 0)
	}
	if err != nil {
		return fmt.Errorf("set %s: %w", name, err)
	}
	return nil
}
