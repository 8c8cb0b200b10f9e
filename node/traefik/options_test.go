package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/traefik/traefik/v3/pkg/config/static"
	"github.com/traefik/traefik/v3/pkg/provider/kubernetes/gateway"
)

func TestParse(t *testing.T) {
	o, err := parse([]string{
		"--entrypoints.web.address=:80", "--entrypoints.websecure.address=:443", "--entrypoints.websecure.http.tls=true",
		"--entrypoints.traefik.address=:8081", "--ping",
		"--providers.kubernetesingress.ingressendpoint.publishedservice=kube-system/traefik",
		"--providers.kubernetesgateway", "--providers.defaultcertificate.directory=/certificate",
	})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]gateway.Entrypoint{"web": {Address: ":80"}, "websecure": {Address: ":443", HasHTTPTLSConf: true}}
	if diff := cmp.Diff(want, o.Providers.KubernetesGateway.EntryPoints); diff != "" {
		t.Errorf("entry points of Gateways (-want +got):\n%s", diff)
	}
	ingress := o.Providers.KubernetesIngress
	if ingress.ThrottleDuration != throttle || o.Providers.KubernetesGateway.ThrottleDuration != throttle {
		t.Error("a provider may send configurations without a pause")
	}
	if got := ingress.IngressEndpoint.PublishedService; got != "kube-system/traefik" {
		t.Errorf("published service: got %q", got)
	}
	if got := len(o.providers()); got != 3 {
		t.Errorf("got %d providers, want 3", got)
	}
}

func TestParseRefuses(t *testing.T) {
	tests := map[string]struct {
		args []string
		want string
	}{
		"NoEntryPoint":      {nil, "no entry point"},
		"PingNowhere":       {[]string{"--entrypoints.web.address=:80", "--ping"}, "--ping.entrypoint=traefik"},
		"ProviderOfOthers":  {[]string{"--entrypoints.web.address=:80", "--providers.file.directory=/etc"}, "field not found, node: file"},
		"DashboardOfOthers": {[]string{"--entrypoints.web.address=:80", "--api.dashboard=true"}, "field not found, node: api"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if _, err := parse(tc.args); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want an error with %q", err, tc.want)
			}
		})
	}
}

func TestDefaultEntryPoints(t *testing.T) {
	tests := map[string]struct {
		all  static.EntryPoints
		want []string
	}{
		"All":    {static.EntryPoints{"websecure": {Address: ":443"}, "web": {Address: ":80"}}, []string{"web", "websecure"}},
		"Marked": {static.EntryPoints{"websecure": {Address: ":443", AsDefault: true}, "web": {Address: ":80"}}, []string{"websecure"}},
		"NotOfProbes": {
			static.EntryPoints{"web": {Address: ":80"}, "traefik": {Address: ":8081", AsDefault: true}, "dns": {Address: ":53/udp"}},
			[]string{"web"},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, defaultEntryPoints(tc.all)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
