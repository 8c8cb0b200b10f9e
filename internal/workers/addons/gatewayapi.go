package addons

import (
	"embed"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

//go:generate go run ./gatewayapi/generate -module ../../../node/traefik -out gatewayapi

// GatewayAPIVersion is that of the kinds of the Gateway API: what node/traefik requires.
const GatewayAPIVersion = "v1.6.1"

// AnnotationBundleVersion is by which upstream says of a kind of the Gateway API of which version it is.
const AnnotationBundleVersion = "gateway.networking.k8s.io/bundle-version"

// gatewayAPI are upstream's files of the standard channel, as they are.
//
//go:embed gatewayapi/*.yaml
var gatewayAPI embed.FS

// GatewayAPI returns the CustomResourceDefinitions of the Gateway API, standard channel, marked as [Objects] are. They are a megabyte
// and the same for every cluster, so that they are not among those.
func GatewayAPI() ([]client.Object, error) {
	files, err := gatewayAPI.ReadDir("gatewayapi")
	if err != nil {
		return nil, err
	}
	var all []client.Object
	for _, file := range files {
		data, err := gatewayAPI.ReadFile("gatewayapi/" + file.Name())
		if err != nil {
			return nil, err
		}
		found, err := parse(string(data), NameGatewayAPI)
		if err != nil {
			return nil, fmt.Errorf("parse %s: %w", file.Name(), err)
		}
		all = append(all, found...)
	}
	return all, nil
}

// GatewayAPIKinds names the CustomResourceDefinitions of [GatewayAPI], without their contents.
func GatewayAPIKinds() []client.Object {
	var all []client.Object
	for _, plural := range []string{
		"backendtlspolicies", "gatewayclasses", "gateways", "grpcroutes", "httproutes", "listenersets", "referencegrants", "tcproutes",
		"tlsroutes", "udproutes",
	} {
		o := &unstructured.Unstructured{}
		o.SetAPIVersion("apiextensions.k8s.io/v1")
		o.SetKind("CustomResourceDefinition")
		o.SetName(plural + ".gateway.networking.k8s.io")
		all = append(all, o)
	}
	return all
}
