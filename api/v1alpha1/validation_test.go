package v1alpha1_test

import (
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/hosting/controlplanetest"
)

func TestMain(m *testing.M) { os.Exit(controlplanetest.Run(m)) }

// object is an object of a kind, as a user would write it.
type object struct{ kind, name, spec string }

func cluster(spec string) object { return object{"Cluster", "demo", spec} }

// network is a good cluster but for its network.
func network(fields string) object {
	return cluster(`{"version": "v1.36.3", "network": {` + fields + `}}`)
}

// rejection is what an API server says of bad input.
type rejection struct {
	field string   // that it names
	says  []string // what is wrong and what would be right
}

// schemaTests are objects by the name of the test.
type schemaTests map[string]struct {
	object
	want rejection
}

// run asks a real API server for what the schema must take or refuse.
func (tests schemaTests) run(t *testing.T) {
	t.Helper()
	c := client.WithFieldValidation(controlplanetest.Client(t), client.FieldValidation(metav1.FieldValidationStrict))
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			// A dry run is validated like a real one and leaves nothing behind.
			tc.want.check(t, c.Create(t.Context(), tc.object.build(t, controlplanetest.Namespace(t, c)), client.DryRunAll))
		})
	}
}

var taken = rejection{}

func refused(field string, says ...string) rejection { return rejection{field, says} }

const (
	overlap   = "podCIDR and serviceCIDR overlap; choose two ranges that share no address"
	rightName = "must be a DNS label of at most 40 characters"
)

func TestSchemaOfNew(t *testing.T) {
	const build = `{"source": {"build": {}}}`
	const ipv6 = `{"podCIDR": "fd00:1::/56", "serviceCIDR": "fd00:2::/112"}`
	schemaTests{
		"Cluster":                  {cluster(`{"version": "v1.36.3"}`), taken},
		"ClusterLongestName":       {object{"Cluster", strings.Repeat("a", 40), `{"version": "v1.36.3"}`}, taken},
		"ClusterNameTooLong":       {object{"Cluster", strings.Repeat("a", 41), `{"version": "v1.36.3"}`}, refused("metadata.name", rightName)},
		"ClusterNameDots":          {object{"Cluster", "a.b", `{"version": "v1.36.3"}`}, refused("metadata.name", rightName)},
		"ClusterNameDigit":         {object{"Cluster", "1a", `{"version": "v1.36.3"}`}, refused("metadata.name", rightName)},
		"ClusterNameUpper":         {object{"Cluster", "Demo", `{"version": "v1.36.3"}`}, refused("metadata.name", "lowercase")},
		"ClusterNameHyphen":        {object{"Cluster", "demo-", `{"version": "v1.36.3"}`}, refused("metadata.name", "end with")},
		"VersionMissing":           {cluster(`{}`), taken}, // the driver says whether it needs one
		"RestoreAsNew":             {object{"Restore", "a", `{"backupName": "b", "newClusterName": "demo2", "newClusterVersion": "v1.36.3", "compareOnly": true, "include": []}`}, taken},
		"RestoreAsNewOfSome":       {object{"Restore", "a", `{"backupName": "b", "newClusterName": "demo2", "include": ["Secret/a/b"]}`}, refused("spec", "a new cluster gets all of the backup")},
		"RestoreVersionAlone":      {object{"Restore", "a", `{"backupName": "b", "newClusterVersion": "v1.36.3"}`}, refused("spec", "set newClusterName, too")},
		"RestoreAsNewBadName":      {object{"Restore", "a", `{"backupName": "b", "newClusterName": "Demo"}`}, refused("spec.newClusterName", "should match")},
		"VersionNoV":               {cluster(`{"version": "1.36.3"}`), refused("spec.version", `^v[0-9]+`)},
		"VersionMinorOnly":         {cluster(`{"version": "v1.36"}`), refused("spec.version", `^v[0-9]+`)},
		"VersionPrerelease":        {cluster(`{"version": "v1.36.0-rc.1"}`), refused("spec.version", `^v[0-9]+`)},
		"VersionTooLong":           {cluster(`{"version": "v1.36.` + strings.Repeat("1", 32) + `"}`), refused("spec.version", "32")},
		"UnknownField":             {cluster(`{"version": "v1.36.3", "versoin": "v1.36.3"}`), refused("spec.versoin", "unknown field")},
		"ParametersAreFree":        {cluster(`{"version": "v1.36.3", "parameters": {"any": {"thing": [1]}}}`), taken},
		"ParametersNoObject":       {cluster(`{"version": "v1.36.3", "parameters": "x"}`), refused("spec.parameters", "object")},
		"CNIFlannel":               {cluster(`{"version": "v1.36.3", "cni": "Flannel"}`), taken},
		"CNIUnknown":               {cluster(`{"version": "v1.36.3", "cni": "calico"}`), refused("spec.cni", `"Routes", "Flannel", "None"`)},
		"CNIFlannelIPv6":           {cluster(`{"version": "v1.36.3", "cni": "Flannel", "network": ` + ipv6 + `}`), refused("spec", "cni Flannel needs an IPv4 range of pods in network.podCIDR")},
		"CNINoneIPv6":              {cluster(`{"version": "v1.36.3", "cni": "None", "network": ` + ipv6 + `}`), taken},
		"CNIFlannelNoCIDR":         {cluster(`{"version": "v1.36.3", "cni": "Flannel", "network": {"podCIDR": "many"}}`), refused("spec.network.podCIDR", "must be a network in CIDR notation")},
		"ControlPlane":             {object{"ControlPlane", "demo", `{"version": "v1.36.3"}`}, taken},
		"ControlPlaneNameDots":     {object{"ControlPlane", "a.b", `{"version": "v1.36.3"}`}, refused("metadata.name", rightName)},
		"ControlPlaneOverlap":      {object{"ControlPlane", "demo", `{"version": "v1.36.3", "network": {"podCIDR": "10.96.0.0/16"}}`}, refused("spec.network", overlap)},
		"Organization":             {object{"Organization", "acme", `{}`}, taken},
		"OrganizationNameDots":     {object{"Organization", "a.b", `{}`}, refused("metadata.name", rightName)},
		"OrganizationTooLong":      {object{"Organization", strings.Repeat("o", 41), `{}`}, refused("metadata.name", rightName)},
		"OrganizationDisplay":      {object{"Organization", "acme", `{"displayName": "` + strings.Repeat("x", 101) + `"}`}, refused("spec.displayName", "100")},
		"Provisioner":              {object{"Provisioner", "p", `{"driver": "hosted"}`}, taken},
		"ProvisionerNoDriver":      {object{"Provisioner", "p", `{"driver": ""}`}, refused("spec.driver", "1")},
		"Release":                  {object{"Release", "v1.36.3", build}, taken},
		"ReleaseName":              {object{"Release", "newest", build}, refused("metadata.name", "must be a Kubernetes version such as v1.36.3")},
		"ReleaseNoSource":          {object{"Release", "v1.36.3", `{"source": {}}`}, refused("spec.source", "exactly one of build and download must be set")},
		"ReleaseTwoSources":        {object{"Release", "v1.36.3", `{"source": {"build": {}, "download": {"baseURL": "https://dl.k8s.io/release"}}}`}, refused("spec.source", "exactly one of build and download must be set")},
		"ReleaseBadURL":            {object{"Release", "v1.36.3", `{"source": {"download": {"baseURL": "dl.k8s.io"}}}`}, refused("spec.source.download.baseURL", "https?://")},
		"DataStore":                {object{"DataStore", "d", `{"endpoints": ["https://192.0.2.1:2379"], "credentialsRef": {"namespace": "kqueen-system", "name": "d"}}`}, taken},
		"DataStoreNoEndpoint":      {object{"DataStore", "d", `{"endpoints": [], "credentialsRef": {"namespace": "kqueen-system", "name": "d"}}`}, refused("spec.endpoints", "at least 1")},
		"DataStorePlainHTTP":       {object{"DataStore", "d", `{"endpoints": ["http://192.0.2.1:2379"], "credentialsRef": {"namespace": "kqueen-system", "name": "d"}}`}, refused("spec.endpoints[0]", "https://")},
		"IdentityProvider":         {provider(``), taken},
		"IdentityProviderHTTP":     {object{"IdentityProvider", "corp", `{"issuer": "http://login.example.com", "clientID": "kqueen"}`}, refused("spec.issuer", "https://")},
		"IdentityProviderQuery":    {object{"IdentityProvider", "corp", `{"issuer": "https://login.example.com/?a=b", "clientID": "kqueen"}`}, refused("spec.issuer", "https://")},
		"IdentityProviderUser":     {object{"IdentityProvider", "corp", `{"issuer": "https://me@login.example.com/", "clientID": "kqueen"}`}, refused("spec.issuer", "https://")},
		"IdentityProviderNoClient": {object{"IdentityProvider", "corp", `{"issuer": "https://login.example.com"}`}, refused("spec.clientID", "Required")},
		"IdentityProviderName":     {object{"IdentityProvider", "sa", `{"issuer": "https://login.example.com", "clientID": "kqueen"}`}, refused("metadata.name", "must not be sa or kqueen")},
		"IdentityProviderSystem":   {object{"IdentityProvider", "system-x", `{"issuer": "https://login.example.com", "clientID": "kqueen"}`}, refused("metadata.name", "begin with system")},
		"IdentityProviderDots":     {object{"IdentityProvider", "a.b", `{"issuer": "https://login.example.com", "clientID": "kqueen"}`}, refused("metadata.name", "must be a DNS label")},
		"IdentityProviderAdmins":   {provider(`, "adminGroups": ["platform"]`), refused("spec", "adminGroups needs groupsClaim")},
		"IdentityProviderGroups":   {provider(`, "adminGroups": ["platform"], "groupsClaim": "groups"`), taken},
		"IdentityProviderCA":       {provider(`, "caBundle": "/etc/ca.pem"`), refused("spec.caBundle", "must be certificates in PEM")},
		"IdentityProviderScope":    {provider(`, "scopes": ["a b"]`), refused("spec.scopes[0]", "should match")},
		"IdentityProviderSecret":   {provider(`, "clientSecret": "s"`), refused("spec.clientSecret", "unknown field")},
		"DataStoreNoCredential":    {object{"DataStore", "d", `{"endpoints": ["https://192.0.2.1:2379"]}`}, refused("spec.credentialsRef", "Required")},
	}.run(t)
}

func provider(fields string) object {
	return object{"IdentityProvider", "corp", `{"issuer": "https://login.example.com/realms/corp", "clientID": "kqueen"` + fields + `}`}
}

func pool(fields string) object {
	return object{"NodePool", "workers", `{"clusterName": "demo"` + fields + `}`}
}

func machine(fields string) object {
	return object{"Machine", "workers-x7k2p", `{"clusterName": "demo", "version": "v1.36.3", "provider": "local"` + fields + `}`}
}

func TestSchemaOfNodePool(t *testing.T) {
	const (
		rightName = "must be a DNS label of at most 50 characters"
		number    = "must be a number of machines up to 1000 or a percentage such as"
		neither   = "maxSurge and maxUnavailable are both 0, so no machine could ever be replaced; raise one of them"
		least     = "greater than or equal to 1"
		effect    = "effect must be NoSchedule, PreferNoSchedule or NoExecute"
	)
	health := func(fields string) object { return pool(`, "health": {` + fields + `}`) }
	rollout := func(fields string) object { return pool(`, "rollout": {` + fields + `}`) }
	template := func(fields string) object { return pool(`, "template": {` + fields + `}`) }
	schemaTests{
		"Smallest":          {pool(``), taken},
		"LongestName":       {object{"NodePool", strings.Repeat("a", 50), `{"clusterName": "demo"}`}, taken},
		"NameTooLong":       {object{"NodePool", strings.Repeat("a", 51), `{"clusterName": "demo"}`}, refused("metadata.name", rightName)},
		"NameDots":          {object{"NodePool", "a.b", `{"clusterName": "demo"}`}, refused("metadata.name", rightName)},
		"NameDigit":         {object{"NodePool", "1a", `{"clusterName": "demo"}`}, refused("metadata.name", rightName)},
		"NoCluster":         {object{"NodePool", "workers", `{}`}, refused("spec.clusterName", "Required")},
		"EmptyCluster":      {object{"NodePool", "workers", `{"clusterName": ""}`}, refused("spec.clusterName", "1")},
		"UnknownField":      {pool(`, "replica": 3`), refused("spec.replica", "unknown field")},
		"None":              {pool(`, "replicas": 0`), taken},
		"Negative":          {pool(`, "replicas": -1`), refused("spec.replicas", "0")},
		"TooMany":           {pool(`, "replicas": 1001`), refused("spec.replicas", "1000")},
		"Bounds":            {pool(`, "replicas": 2, "minReplicas": 2, "maxReplicas": 2`), taken},
		"BoundsCrossed":     {pool(`, "replicas": 3, "minReplicas": 4, "maxReplicas": 2`), refused("spec", "minReplicas is above maxReplicas; choose minReplicas <= maxReplicas")},
		"BelowMin":          {pool(`, "replicas": 1, "minReplicas": 2`), refused("spec", "replicas is below minReplicas; raise replicas or lower minReplicas")},
		"Autoscaling":       {pool(`, "replicas": 0, "maxReplicas": 3, "autoscaling": {}`), taken},
		"AutoscalingNoMax":  {pool(`, "autoscaling": {"idleSeconds": 60}`), refused("spec", "autoscaling needs maxReplicas: say how many machines the pool may have at most")},
		"AutoscalingJoined": {pool(`, "maxReplicas": 3, "autoscaling": {}, "template": {"provider": "manual"}`), refused("spec", "autoscaling is not possible with machines that the user joins")},
		"AutoscalingAtOnce": {pool(`, "maxReplicas": 3, "autoscaling": {"idleSeconds": 0}`), refused("spec.autoscaling.idleSeconds", "should be greater than or equal to 1")},
		"DefaultBelowMin":   {pool(`, "minReplicas": 2`), refused("spec", "replicas is below minReplicas")},
		"AboveMax":          {pool(`, "replicas": 3, "maxReplicas": 2`), refused("spec", "replicas is above maxReplicas; lower replicas or raise maxReplicas")},
		"Version":           {pool(`, "version": "v1.36.3"`), taken},
		"VersionNoV":        {pool(`, "version": "1.36.3"`), refused("spec.version", `^v[0-9]+`)},
		"Provider":          {template(`"provider": "manual"`), taken},
		"ProviderUnknown":   {template(`"provider": "warp"`), refused("spec.template.provider", "local", "manual")},
		"Parameters":        {template(`"parameters": {"cpus": 2}`), taken},
		"ParametersNoMap":   {template(`"parameters": 2`), refused("spec.template.parameters", "object")},
		"Labels":            {template(`"labels": {"tier": "web", "example.org/zone": "", "a_b.c": "A.b-1"}`), taken},
		"Taints":            {template(`"taints": [{"key": "example.org/gpu", "value": "yes", "effect": "NoSchedule"}, {"key": "x", "effect": "NoExecute"}]`), taken},
		"TaintEffect":       {template(`"taints": [{"key": "gpu", "effect": "Never"}]`), refused("spec.template.taints", effect)},
		"Drain":             {template(`"drain": {"timeoutSeconds": 5400}`), taken},
		"DrainForEver":      {template(`"drain": {"timeoutSeconds": 0}`), taken},
		"DrainFraction":     {template(`"drain": {"timeoutSeconds": 1.5}`), refused("spec.template.drain.timeoutSeconds", "int32")},
		"DrainText":         {template(`"drain": {"timeoutSeconds": "10m"}`), refused("spec.template.drain.timeoutSeconds", "integer")},
		"DrainNegative":     {template(`"drain": {"timeoutSeconds": -1}`), refused("spec.template.drain.timeoutSeconds", "greater than or equal to 0")},
		"DrainOfBefore":     {template(`"drain": {"timeout": "10m"}`), refused("spec.template.drain.timeout", "unknown field")},
		"Timeouts":          {health(`"unreadyTimeoutSeconds": 1, "startupTimeoutSeconds": 3600`), taken},
		"UnreadyZero":       {health(`"unreadyTimeoutSeconds": 0`), refused("spec.health.unreadyTimeoutSeconds", least)},
		"UnreadyText":       {health(`"unreadyTimeoutSeconds": "5m"`), refused("spec.health.unreadyTimeoutSeconds", "integer")},
		"StartupZero":       {health(`"startupTimeoutSeconds": 0`), refused("spec.health.startupTimeoutSeconds", least)},
		"StartupHuge":       {health(`"startupTimeoutSeconds": 2147483648`), refused("spec.health.startupTimeoutSeconds", "int32")},
		"Unhealthy":         {health(`"maxUnhealthy": 0`), taken},
		"UnhealthyAll":      {health(`"maxUnhealthy": "100%"`), taken},
		"UnhealthyOver":     {health(`"maxUnhealthy": "101%"`), refused("spec.health.maxUnhealthy", number)},
		"UnhealthyNegative": {health(`"maxUnhealthy": -1`), refused("spec.health.maxUnhealthy", number)},
		"UnhealthyText":     {health(`"maxUnhealthy": "2"`), refused("spec.health.maxUnhealthy", number)},
		"UnhealthyHuge":     {health(`"maxUnhealthy": 2147483648`), refused("spec.health.maxUnhealthy", number)},
		"Surge":             {rollout(`"maxSurge": "25%", "maxUnavailable": 2`), taken},
		"SurgeHuge":         {rollout(`"maxSurge": 1001`), refused("spec.rollout.maxSurge", number)},
		"SurgeFraction":     {rollout(`"maxSurge": "2.5%"`), refused("spec.rollout.maxSurge", number)},
		"UnavailableText":   {rollout(`"maxUnavailable": "some"`), refused("spec.rollout.maxUnavailable", number)},
		"NeitherNumber":     {rollout(`"maxSurge": 0, "maxUnavailable": 0`), refused("spec.rollout", neither)},
		"NeitherPercent":    {rollout(`"maxSurge": "0%", "maxUnavailable": "0%"`), refused("spec.rollout", neither)},
		"NeitherLeadZero":   {rollout(`"maxSurge": "00%", "maxUnavailable": 0`), refused("spec.rollout.maxSurge", number)},
		"NeitherByDefault":  {rollout(`"maxSurge": 0`), refused("spec.rollout", neither)},
	}.run(t)
}

func TestSchemaOfMachine(t *testing.T) {
	const rightName = "must be a DNS label: lower-case letters, digits and '-'"
	schemaTests{
		"Smallest":        {machine(``), taken},
		"LongestName":     {object{"Machine", strings.Repeat("a", 63), machine(``).spec}, taken},
		"NameTooLong":     {object{"Machine", strings.Repeat("a", 64), machine(``).spec}, refused("metadata.name", rightName)},
		"NameDots":        {object{"Machine", "a.b", machine(``).spec}, refused("metadata.name", rightName)},
		"NoVersion":       {object{"Machine", "m", `{"clusterName": "demo", "provider": "local"}`}, refused("spec.version", "Required")},
		"NoProvider":      {object{"Machine", "m", `{"clusterName": "demo", "version": "v1.36.3"}`}, refused("spec.provider", "Required")},
		"ProviderUnknown": {object{"Machine", "m", `{"clusterName": "demo", "version": "v1.36.3", "provider": "warp"}`}, refused("spec.provider", "local", "manual")},
		"NoCluster":       {object{"Machine", "m", `{"version": "v1.36.3", "provider": "local"}`}, refused("spec.clusterName", "Required")},
		"Labels":          {machine(`, "labels": {"tier": "web"}`), taken},
		"TaintEffect":     {machine(`, "taints": [{"key": "gpu", "effect": "Never"}]`), refused("spec.taints", "effect must be NoSchedule")},
		"DrainNonsense":   {machine(`, "drain": {"timeoutSeconds": "soon"}`), refused("spec.drain.timeoutSeconds", "integer")},
		"UnknownField":    {machine(`, "taint": []`), refused("spec.taint", "unknown field")},
	}.run(t)
}

func TestSchemaOfNetwork(t *testing.T) {
	const (
		rightCIDR = "must be a network in CIDR notation with no host bits set"
		prefix    = "must have a prefix of /12 to /28 (IPv4) or /108 to /124 (IPv6)"
	)
	schemaTests{
		"UnknownNested":       {network(`"podCidr": "10.0.0.0/16"`), refused("spec.network.podCidr", "unknown field")},
		"NetworkIPv4":         {network(`"podCIDR": "10.8.0.0/14", "serviceCIDR": "10.96.0.0/12"`), taken},
		"NetworkIPv6":         {network(`"podCIDR": "fd00:10:244::/56", "serviceCIDR": "fd00:10:96::/112"`), taken},
		"NetworkMixed":        {network(`"podCIDR": "fd00:10:244::/56", "serviceCIDR": "10.96.0.0/16"`), taken},
		"NetworksTouch":       {network(`"podCIDR": "10.0.0.0/16", "serviceCIDR": "10.1.0.0/16"`), taken},
		"PodInService":        {network(`"podCIDR": "10.96.0.0/24", "serviceCIDR": "10.96.0.0/12"`), refused("spec.network", overlap)},
		"PodInsideService":    {network(`"podCIDR": "10.100.5.0/24", "serviceCIDR": "10.96.0.0/12"`), refused("spec.network", overlap)},
		"ServiceInPod":        {network(`"podCIDR": "10.0.0.0/8", "serviceCIDR": "10.96.0.0/16"`), refused("spec.network", overlap)},
		"CIDRsEqual":          {network(`"podCIDR": "10.96.0.0/16", "serviceCIDR": "10.96.0.0/16"`), refused("spec.network", overlap)},
		"OverlapWithDefault":  {network(`"podCIDR": "10.96.0.0/16"`), refused("spec.network", overlap)},
		"OverlapIPv6":         {network(`"podCIDR": "fd00::/64", "serviceCIDR": "fd00::1:0/112"`), refused("spec.network", overlap)},
		"PodHostBits":         {network(`"podCIDR": "10.244.0.1/16"`), refused("spec.network.podCIDR", rightCIDR, "10.244.0.0/16")},
		"ServiceHostBits":     {network(`"serviceCIDR": "10.96.0.5/16"`), refused("spec.network.serviceCIDR", rightCIDR, "10.96.0.0/16")},
		"PodNoCIDR":           {network(`"podCIDR": "10.244.0.0"`), refused("spec.network.podCIDR", rightCIDR)},
		"PodNonsense":         {network(`"podCIDR": "all of them"`), refused("spec.network.podCIDR", rightCIDR)},
		"ServiceTooLarge":     {network(`"serviceCIDR": "10.0.0.0/11", "podCIDR": "192.168.0.0/16"`), refused("spec.network.serviceCIDR", prefix)},
		"ServiceTooSmall":     {network(`"serviceCIDR": "10.96.0.0/29"`), refused("spec.network.serviceCIDR", prefix)},
		"ServiceIPv6TooLarge": {network(`"serviceCIDR": "fd00:10:96::/107"`), refused("spec.network.serviceCIDR", prefix)},
		"ServiceIPv6TooSmall": {network(`"serviceCIDR": "fd00:10:96::/125"`), refused("spec.network.serviceCIDR", prefix)},
		"DNSDomainUpper":      {network(`"dnsDomain": "Cluster.Local"`), refused("spec.network.dnsDomain", "should match")},
		"DNSDomainDotAtEnd":   {network(`"dnsDomain": "cluster.local."`), refused("spec.network.dnsDomain", "should match")},
		"SANs":                {network(`"extraSANs": ["api.example.com", "192.0.2.7", "2001:db8::7"]`), taken},
		"SANWithSpace":        {network(`"extraSANs": ["api example"]`), refused("spec.network.extraSANs[0]", "should match")},
		"SANIsURL":            {network(`"extraSANs": ["ok.example.com", "https://api.example.com"]`), refused("spec.network.extraSANs[1]", "should match")},
		"SANTwice":            {network(`"extraSANs": ["a.example.com", "a.example.com"]`), refused("spec.network.extraSANs[1]", "Duplicate")},
	}.run(t)
}

// TestSchemaOfChanges asks a real API server for which changes the schema must take or refuse.
func TestSchemaOfChanges(t *testing.T) {
	const networkIsFixed = "podCIDR, serviceCIDR and dnsDomain cannot be changed; create a new cluster instead"
	tests := map[string]struct {
		object
		patch string // of the spec
		want  rejection
	}{
		"Version":             {cluster(`{"version": "v1.36.2"}`), `{"version": "v1.36.3"}`, rejection{}},
		"ExtraSANs":           {cluster(`{"version": "v1.36.2"}`), `{"network": {"extraSANs": ["a.example.com"]}}`, rejection{}},
		"PodCIDR":             {cluster(`{"version": "v1.36.2"}`), `{"network": {"podCIDR": "10.200.0.0/16"}}`, rejection{"spec.network", []string{networkIsFixed}}},
		"PodCIDRRemoved":      {network(`"podCIDR": "10.200.0.0/16"`), `{"network": {"podCIDR": null}}`, rejection{"spec.network", []string{networkIsFixed}}},
		"NetworkRemoved":      {network(`"podCIDR": "10.200.0.0/16"`), `{"network": null}`, rejection{"spec.network", []string{networkIsFixed}}},
		"ServiceCIDR":         {cluster(`{"version": "v1.36.2"}`), `{"network": {"serviceCIDR": "10.97.0.0/16"}}`, rejection{"spec.network", []string{networkIsFixed}}},
		"DNSDomain":           {cluster(`{"version": "v1.36.2"}`), `{"network": {"dnsDomain": "other.local"}}`, rejection{"spec.network", []string{networkIsFixed}}},
		"ProvisionerName":     {cluster(`{"version": "v1.36.2"}`), `{"provisionerRef": {"name": "other"}}`, rejection{"spec.provisionerRef", []string{"cannot be changed; create a new Cluster instead"}}},
		"ProvisionerSpace":    {cluster(`{"version": "v1.36.2"}`), `{"provisionerRef": {"namespace": "other"}}`, rejection{"spec.provisionerRef", []string{"cannot be changed; create a new Cluster instead"}}},
		"ProvisionerRemoved":  {cluster(`{"version": "v1.36.2", "provisionerRef": {"name": "mine"}}`), `{"provisionerRef": null}`, rejection{"spec.provisionerRef", []string{"cannot be changed; create a new Cluster instead"}}},
		"Driver":              {object{"Provisioner", "p", `{"driver": "hosted"}`}, `{"driver": "gke"}`, rejection{"spec.driver", []string{"driver cannot be changed; create a new Provisioner instead"}}},
		"ProvisionerSettings": {object{"Provisioner", "p", `{"driver": "hosted"}`}, `{"parameters": {"dataStoreName": "x"}}`, rejection{}},
		"DataStore":           {object{"ControlPlane", "demo", `{"version": "v1.36.3"}`}, `{"dataStoreName": "other"}`, rejection{"spec.dataStoreName", []string{"dataStoreName cannot be changed"}}},
		"ControlPlaneNetwork": {object{"ControlPlane", "demo", `{"version": "v1.36.3"}`}, `{"network": {"podCIDR": "10.200.0.0/16"}}`, rejection{"spec.network", []string{networkIsFixed}}},
		"PoolScaled":          {pool(``), `{"replicas": 5}`, rejection{}},
		"PoolCluster":         {pool(``), `{"clusterName": "other"}`, rejection{"spec", []string{"clusterName cannot be changed; create a new pool in the other cluster instead"}}},
		"PoolProvider":        {pool(``), `{"template": {"provider": "manual"}}`, rejection{}},
		"PoolVersionRemoved":  {pool(`, "version": "v1.36.2"`), `{"version": null}`, rejection{}},
		"PoolBelowMin":        {pool(`, "replicas": 2, "minReplicas": 2`), `{"replicas": 1}`, rejection{"spec", []string{"replicas is below minReplicas"}}},
		"MachineLabels":       {machine(``), `{"labels": {"a": "b"}}`, rejection{}},
		"MachineResources":    {machine(`, "resources": {"cpu": "2"}`), `{"resources": {"cpu": "3"}}`, rejection{"spec", []string{"resources cannot be changed; a machine is replaced instead"}}},
		"MachineResourcesNew": {machine(``), `{"resources": {"cpu": "3"}}`, rejection{"spec", []string{"resources cannot be changed; a machine is replaced instead"}}},
		"PoolResources":       {pool(`, "template": {"resources": {"cpu": "2"}}`), `{"template": {"resources": {"cpu": "3"}}}`, rejection{}},
		"MachineDrain":        {machine(``), `{"drain": {"timeoutSeconds": 1}}`, rejection{}},
		"MachineVersion":      {machine(``), `{"version": "v1.36.4"}`, rejection{"spec", []string{"clusterName, version and provider cannot be changed; a machine is replaced instead"}}},
		"MachineProvider":     {machine(``), `{"provider": "manual"}`, rejection{"spec", []string{"cannot be changed; a machine is replaced instead"}}},
		"MachineCluster":      {machine(``), `{"clusterName": "other"}`, rejection{"spec", []string{"cannot be changed; a machine is replaced instead"}}},
		"DataStoreRemoved":    {object{"ControlPlane", "demo", `{"version": "v1.36.3", "dataStoreName": "mine"}`}, `{"dataStoreName": null}`, rejection{"spec.dataStoreName", []string{"dataStoreName cannot be changed"}}},
	}
	c := controlplanetest.Client(t)
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			obj := tc.object.build(t, controlplanetest.Namespace(t, c))
			if err := c.Create(t.Context(), obj); err != nil {
				t.Fatalf("create: %v", err)
			}
			tc.want.check(t, c.Patch(t.Context(), obj, client.RawPatch(types.MergePatchType, []byte(`{"spec": `+tc.patch+`}`))))
		})
	}
}

// TestDefaults: what is left out is written, so that a later default does not change what runs.
func TestDefaults(t *testing.T) {
	c := controlplanetest.Client(t)
	obj := cluster(`{"version": "v1.36.3"}`).build(t, controlplanetest.Namespace(t, c))
	if err := c.Create(t.Context(), obj); err != nil {
		t.Fatal(err)
	}
	got := &v1alpha1.Cluster{}
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(obj), got); err != nil {
		t.Fatal(err)
	}
	want := v1alpha1.ClusterSpec{
		Version:        "v1.36.3",
		ProvisionerRef: v1alpha1.ProvisionerReference{Name: "hosted", Namespace: "kqueen-system"},
		Network:        v1alpha1.Network{PodCIDR: "10.244.0.0/16", ServiceCIDR: "10.96.0.0/16", DNSDomain: "cluster.local"},
		CNI:            v1alpha1.CNIRoutes,
		AuditLog:       v1alpha1.AuditMetadata,
	}
	if diff := cmp.Diff(want, got.Spec); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestPoolDefaults: the smallest pool has the policies that the page of the kind names.
func TestPoolDefaults(t *testing.T) {
	c := controlplanetest.Client(t)
	obj := pool(``).build(t, controlplanetest.Namespace(t, c))
	if err := c.Create(t.Context(), obj); err != nil {
		t.Fatal(err)
	}
	got := &v1alpha1.NodePool{}
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(obj), got); err != nil {
		t.Fatal(err)
	}
	want := v1alpha1.NodePoolSpec{
		ClusterName: "demo", Replicas: 1,
		Template: v1alpha1.MachineTemplate{Provider: "local", Drain: v1alpha1.DrainPolicy{TimeoutSeconds: ptr.To[int32](600)}},
		Health:   v1alpha1.HealthPolicy{UnreadyTimeoutSeconds: ptr.To[int32](300), StartupTimeoutSeconds: ptr.To[int32](900), MaxUnhealthy: ptr.To(intstr.FromString("40%"))},
		Rollout:  v1alpha1.RolloutPolicy{MaxSurge: ptr.To(intstr.FromInt32(1)), MaxUnavailable: ptr.To(intstr.FromInt32(0))},
	}
	if diff := cmp.Diff(want, got.Spec); diff != "" {
		t.Errorf("the defaults (-want +got):\n%s", diff)
	}
	said := v1alpha1.NodePoolSpec{ClusterName: "demo", Replicas: 1}
	said.Default()
	if diff := cmp.Diff(said, got.Spec); diff != "" {
		t.Errorf("Default and the schema differ (-Default +schema):\n%s", diff)
	}
}

func (o object) build(t *testing.T, namespace string) *unstructured.Unstructured {
	t.Helper()
	var spec any
	if err := json.Unmarshal([]byte(o.spec), &spec); err != nil {
		t.Fatalf("the test's own spec: %v", err)
	}
	u := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	u.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(o.kind))
	u.SetName(o.name)
	switch o.kind {
	case "Organization", "Release", "DataStore", "IdentityProvider":
	default:
		u.SetNamespace(namespace)
	}
	return u
}

func (r rejection) check(t *testing.T, err error) {
	t.Helper()
	if r.field == "" {
		if err != nil {
			t.Errorf("want it to be taken, got %v", err)
		}
		return
	}
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		t.Fatalf("want it to be refused for %s, got %v", r.field, err)
	}
	// An unknown field is said by the decoder, which gives no list of causes.
	text := status.Status().Message
	if status.Status().Details != nil {
		for _, cause := range status.Status().Details.Causes {
			// The root of an object has no name; a message of the schema about metadata.name names it itself.
			if cause.Field == r.field || strings.Contains(cause.Message, r.field) {
				text = cause.Field + ": " + cause.Message
				break
			}
		}
	}
	for _, part := range append([]string{r.field}, r.says...) {
		if !strings.Contains(text, part) {
			t.Errorf("want %q in %q", part, text)
		}
	}
}
