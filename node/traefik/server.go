package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/traefik/traefik/v3/pkg/config/dynamic"
	"github.com/traefik/traefik/v3/pkg/config/runtime"
	"github.com/traefik/traefik/v3/pkg/config/static"
	"github.com/traefik/traefik/v3/pkg/observability/metrics"
	"github.com/traefik/traefik/v3/pkg/provider/aggregator"
	"github.com/traefik/traefik/v3/pkg/provider/traefik"
	"github.com/traefik/traefik/v3/pkg/proxy/httputil"
	"github.com/traefik/traefik/v3/pkg/safe"
	"github.com/traefik/traefik/v3/pkg/server"
	"github.com/traefik/traefik/v3/pkg/server/middleware"
	"github.com/traefik/traefik/v3/pkg/server/service"
	"github.com/traefik/traefik/v3/pkg/tcp"
	"github.com/traefik/traefik/v3/pkg/tls"
)

// proxy is what a new configuration is given to.
type proxy struct {
	tls        *tls.Manager
	transports *service.TransportManager
	builder    *httputil.ProxyBuilder
	dialers    *tcp.DialerManager
	routers    *server.RouterFactory
	tcp        server.TCPEntryPoints
	udp        server.UDPEntryPoints
}

// newServer listens on the entry points and connects the providers to them.
func newServer(o *options) (*server.Server, error) {
	conf := o.static()
	sources := &aggregator.ProviderAggregator{}
	for _, p := range append(o.providers(), traefik.New(conf)) {
		if err := sources.AddProvider(p); err != nil {
			return nil, fmt.Errorf("start provider %T: %w", p, err)
		}
	}
	pool := safe.NewPool(context.Background())
	observability := middleware.NewObservabilityMgr(conf, metrics.NewVoidRegistry(), nil, nil, nil, nil)
	p, err := newProxy(conf, pool, observability)
	if err != nil {
		return nil, err
	}
	watcher := server.NewConfigurationWatcher(pool, sources, defaultEntryPoints(conf.EntryPoints), traefik.ProviderName, false)
	watcher.AddListener(p.update)
	return server.NewServer(pool, p.tcp, p.udp, watcher, observability), nil
}

func newProxy(conf static.Configuration, pool *safe.Pool, observability *middleware.ObservabilityMgr) (*proxy, error) {
	p := &proxy{tls: tls.NewManager(nil), transports: service.NewTransportManager(nil), dialers: tcp.NewDialerManager(nil)}
	pool.GoCtx(p.tls.Run)
	p.builder = httputil.NewProxyBuilder(p.transports, nil)
	var err error
	if p.tcp, err = server.NewTCPEntryPoints(conf.EntryPoints, nil, metrics.NewVoidRegistry()); err != nil {
		return nil, fmt.Errorf("listen on the entry points: %w", err)
	}
	if p.udp, err = server.NewUDPEntryPoints(conf.EntryPoints); err != nil {
		return nil, fmt.Errorf("listen on the entry points: %w", err)
	}
	factory := service.NewManagerFactory(conf, pool, observability, p.transports, p.builder, nil, p.tls)
	if p.routers, err = server.NewRouterFactory(conf, factory, p.tls, observability, nil, p.dialers); err != nil {
		return nil, fmt.Errorf("prepare routers: %w", err)
	}
	return p, nil
}

// update has requests go where the new configuration says. Certificates and transports come before the routers that use them.
func (p *proxy) update(conf dynamic.Configuration) {
	p.tls.UpdateConfigs(context.Background(), conf.TLS.Stores, conf.TLS.Options, conf.TLS.Certificates)
	p.transports.Update(conf.HTTP.ServersTransports)
	p.builder.Update(conf.HTTP.ServersTransports)
	p.dialers.Update(conf.TCP.ServersTransports)
	tcpRouters, udpRouters := p.routers.CreateRouters(runtime.NewConfig(conf))
	p.tcp.Switch(tcpRouters)
	p.udp.Switch(udpRouters)
}

// defaultEntryPoints are those of routers that name none: those that the user marked so, or all but the one of probes.
func defaultEntryPoints(all static.EntryPoints) []string {
	var marked, others []string
	for name, e := range all {
		switch protocol, _ := e.GetProtocol(); { // the entry points listen, so it is valid
		case protocol == "udp" || name == static.DefaultInternalEntryPointName:
		case e.AsDefault:
			marked = append(marked, name)
		default:
			others = append(others, name)
		}
	}
	chosen := others
	if len(marked) > 0 {
		chosen = marked
	}
	slices.Sort(chosen)
	return chosen
}
