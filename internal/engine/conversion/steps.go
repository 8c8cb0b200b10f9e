package conversion

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// steps are those from schema 1 to schema 2 (docs/development/adr/0032), by kind.
func steps() map[string][]step {
	every := step{from: "status.nextTry", to: "status.nextRetryTime"}
	cni := step{from: "spec.cni", value: spelled("Routes", "Flannel", "None")}
	auditLog := step{from: "spec.auditLog", value: auditLevel}
	return map[string][]step{
		"Cluster": {every, cni, auditLog},
		"ControlPlane": {
			every, auditLog,
			{from: "spec.dataStore", to: "spec.dataStoreName"},
			{from: "status.storeBytes", to: "status.storeUsed", value: quantity},
			{from: "status.renewAt", to: "status.renewalTime"},
		},
		"DataStore":        {every},
		"IdentityProvider": {every},
		"Machine": {
			every,
			{from: "spec.drain.timeout", to: "spec.drain.timeoutSeconds", value: seconds},
			{from: "status.lifeBegan", to: "status.lifeTransitionTime"},
			{from: "status.joinedAt", to: "status.joinTime"},
			{from: "status.drainBegan", to: "status.drainStartTime"},
		},
		"NodePool": {
			every,
			{from: "spec.template.drain.timeout", to: "spec.template.drain.timeoutSeconds", value: seconds},
			{from: "spec.health.unreadyTimeout", to: "spec.health.unreadyTimeoutSeconds", value: seconds},
			{from: "spec.health.startupTimeout", to: "spec.health.startupTimeoutSeconds", value: seconds},
		},
		"Organization": {
			every,
			{from: "spec.provisioners", to: "spec.provisionerNames"},
			{from: "spec.dataStores", to: "spec.dataStoreNames"},
		},
		"Provisioner": {every, {from: "spec.parameters.dataStore", to: "spec.parameters.dataStoreName", only: ofDriver("hosted")}},
		"Release":     {every},
	}
}

// ofDriver takes Provisioners of one driver: the parameters of others are theirs.
func ofDriver(name string) func(map[string]any) bool {
	return func(object map[string]any) bool {
		driver, _, _ := unstructured.NestedString(object, "spec", "driver")
		return driver == name
	}
}

// spelled takes one of the names in whatever case.
func spelled(names ...string) func(any) (any, error) {
	return func(value any) (any, error) {
		text, _ := value.(string)
		i := slices.IndexFunc(names, func(name string) bool { return strings.EqualFold(name, text) })
		if i < 0 {
			return nil, fmt.Errorf("%v is not one of %s", value, strings.Join(names, ", "))
		}
		return names[i], nil
	}
}

// auditLevel takes the level that was called full.
func auditLevel(value any) (any, error) {
	if value == "full" {
		return "RequestResponse", nil
	}
	return spelled("None", "Metadata", "RequestResponse")(value)
}

// seconds takes a duration as "1m30s". Part of a second is a whole one: no time becomes shorter, or 0, which stands for no end.
func seconds(value any) (any, error) {
	text, ok := value.(string)
	if !ok {
		return nil, fmt.Errorf("%v is not a duration such as 5m", value)
	}
	duration, err := time.ParseDuration(text)
	if err != nil {
		return nil, fmt.Errorf("%q is not a duration such as 5m", text)
	}
	whole := int64((duration + time.Second - 1) / time.Second)
	if duration < 0 || whole > math.MaxInt32 {
		return nil, fmt.Errorf("%s is not between 0 and %s", text, math.MaxInt32*time.Second)
	}
	return whole, nil
}

// quantity takes a number of bytes.
func quantity(value any) (any, error) {
	bytes, ok := value.(int64)
	if !ok {
		return nil, fmt.Errorf("%v is not a number of bytes", value)
	}
	return resource.NewQuantity(bytes, resource.BinarySI).String(), nil
}

// joined is errors.Join, and the error itself where there is one.
func joined(all []error) error {
	if len(all) == 1 {
		return all[0]
	}
	return errors.Join(all...)
}
