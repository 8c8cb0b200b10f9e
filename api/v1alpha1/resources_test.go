package v1alpha1_test

import "testing"

func TestSchemaOfResources(t *testing.T) {
	const (
		cpu    = "spec.template.resources.cpu"
		memory = "spec.template.resources.memory"
	)
	resources := func(fields string) object { return pool(`, "template": {"resources": {` + fields + `}}`) }
	quota := func(fields string) object { return object{"Organization", "acme", `{"quota": {` + fields + `}}`} }
	schemaTests{
		"Both":           {resources(`"cpu": "2", "memory": "4Gi"`), taken},
		"Number":         {resources(`"cpu": 2`), taken},
		"Thousandths":    {resources(`"cpu": "1500m", "memory": 4294967296`), taken},
		"Smallest":       {resources(`"cpu": "100m", "memory": "256Mi"`), taken},
		"Largest":        {resources(`"cpu": "1024", "memory": "64Ti"`), taken},
		"None":           {resources(``), taken},
		"CPUTooSmall":    {resources(`"cpu": "99m"`), refused(cpu, "must be from 100m to 1024")},
		"CPUTooLarge":    {resources(`"cpu": 1025`), refused(cpu, "must be from 100m to 1024")},
		"CPUBelowZero":   {resources(`"cpu": "-1"`), refused(cpu, "must be from 100m to 1024")},
		"CPUWords":       {resources(`"cpu": "two"`), refused(cpu, "should match")},
		"MemoryTooSmall": {resources(`"memory": "255Mi"`), refused(memory, "must be from 256Mi to 64Ti")},
		"MemoryTooLarge": {resources(`"memory": "65Ti"`), refused(memory, "must be from 256Mi to 64Ti")},
		"Brought": {pool(`, "template": {"provider": "manual", "resources": {"cpu": "2"}}`),
			refused("spec.template", "resources cannot be given to machines that the user joins; they have what they have")},
		"Machine":        {machine(`, "resources": {"cpu": "2", "memory": "4Gi"}`), taken},
		"Quota":          {quota(`"clusters": 1, "nodes": 2, "cpu": 4, "memory": "8Gi", "store": "1Gi"`), taken},
		"QuotaZero":      {quota(`"cpu": 0, "memory": "0", "store": 0`), taken},
		"QuotaBelowZero": {quota(`"cpu": "-1"`), refused("spec.quota.cpu", "must be from 0 to 1M")},
		"QuotaTooLarge":  {quota(`"memory": "2Ei"`), refused("spec.quota.memory", "must be from 0 to 1Ei")},
		"QuotaStore":     {quota(`"store": "-1"`), refused("spec.quota.store", "must be from 0 to 1Ei")},
	}.run(t)
}
