package main

import (
	"fmt"
	"time"

	"github.com/traefik/paerser/flag"
	ptypes "github.com/traefik/paerser/types"
	"github.com/traefik/traefik/v3/pkg/config/static"
	"github.com/traefik/traefik/v3/pkg/ping"
	"github.com/traefik/traefik/v3/pkg/provider"
	"github.com/traefik/traefik/v3/pkg/provider/kubernetes/gateway"
	"github.com/traefik/traefik/v3/pkg/provider/kubernetes/ingress"
)

// throttle is the shortest time between two configurations of a provider, as upstream has it.
const throttle = ptypes.Duration(2 * time.Second)

// options are those of upstream's static configuration that this program has, with upstream's names of flags.
type options struct {
	EntryPoints static.EntryPoints
	Providers   *providers
	Ping        *ping.Handler `label:"allowEmpty"`
	Log         *logOptions
}

type providers struct {
	KubernetesIngress *ingress.Provider `label:"allowEmpty"`
	KubernetesGateway *gateway.Provider `label:"allowEmpty"`
	// DefaultCertificate is of this program alone.
	DefaultCertificate *defaultCertificate
}

type logOptions struct {
	// Level is one of debug, info, warn, error, fatal, panic.
	Level string
}

// parse refuses flags that it does not know.
func parse(args []string) (*options, error) {
	o := &options{Providers: &providers{}, Log: &logOptions{Level: "info"}}
	if err := flag.Decode(args, o); err != nil {
		return nil, err
	}
	if len(o.EntryPoints) == 0 {
		return nil, fmt.Errorf("no entry point: give one, such as --entrypoints.web.address=:8000")
	}
	if o.Ping != nil && o.EntryPoints[o.Ping.EntryPoint] == nil {
		return nil, fmt.Errorf("--ping.entrypoint=%s: there is no entry point of that name", o.Ping.EntryPoint)
	}
	if p := o.Providers.KubernetesIngress; p != nil && p.ThrottleDuration == 0 {
		p.ThrottleDuration = throttle
	}
	if p := o.Providers.KubernetesGateway; p != nil {
		p.EntryPoints = o.gatewayEntryPoints()
		if p.ThrottleDuration == 0 {
			p.ThrottleDuration = throttle
		}
	}
	return o, nil
}

// gatewayEntryPoints are those that listeners of Gateways find by their ports. That of the probes is not for users.
func (o *options) gatewayEntryPoints() map[string]gateway.Entrypoint {
	found := map[string]gateway.Entrypoint{}
	for name, e := range o.EntryPoints {
		if name == static.DefaultInternalEntryPointName {
			continue
		}
		found[name] = gateway.Entrypoint{Address: e.GetAddress(), HasHTTPTLSConf: e.HTTP.TLS != nil}
	}
	return found
}

// providers are those that the user chose.
func (o *options) providers() []provider.Provider {
	var all []provider.Provider
	if p := o.Providers.DefaultCertificate; p != nil {
		all = append(all, p)
	}
	if p := o.Providers.KubernetesIngress; p != nil {
		all = append(all, p)
	}
	if p := o.Providers.KubernetesGateway; p != nil {
		all = append(all, p)
	}
	return all
}

// static are the options as upstream's packages take them, with its defaults for what this program has no flags for. Other
// providers are not named in it.
func (o *options) static() static.Configuration {
	return static.Configuration{
		EntryPoints:         o.EntryPoints,
		Ping:                o.Ping,
		Providers:           &static.Providers{Precedence: []string{gateway.ProviderName, ingress.ProviderName}},
		ServersTransport:    &static.ServersTransport{MaxIdleConnsPerHost: 200},
		TCPServersTransport: &static.TCPServersTransport{DialTimeout: ptypes.Duration(30 * time.Second), DialKeepAlive: ptypes.Duration(15 * time.Second)},
	}
}
