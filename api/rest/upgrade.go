package rest

// UpgradePlan is what an upgrade of a cluster would be, as of now. Nothing is created or changed for it.
type UpgradePlan struct {
	ClusterNow

	// FromVersion is what the cluster runs, and Version what it would be upgraded to.
	FromVersion string `json:"fromVersion"`
	Version     string `json:"version"`
	// Steps are those of the upgrade in their order; none when there is nothing to do.
	Steps []UpgradePlanStep `json:"steps"`
	// Findings stand against the upgrade, or are to be known.
	Findings []UpgradePlanFinding `json:"findings"`
	// OmittedFindings is how many findings there are beside those.
	OmittedFindings int `json:"omittedFindings,omitempty"`
}

// UpgradePlanStep is one step of an upgrade.
type UpgradePlanStep struct {
	Name    string `json:"name"`
	Kind    string `json:"kind" enum:"Preflight,Backup,ControlPlane,NodePool"`
	Version string `json:"version,omitempty"`
	// Object is the name of the node pool.
	Object string `json:"object,omitempty"`
	// Skipped says why the step would not be taken.
	Skipped string `json:"skipped,omitempty"`
	// Why the step is there.
	Why string `json:"why,omitempty"`
	// LastSeconds is how long such a step took in the last upgrade of the cluster; absent when there is none.
	LastSeconds int64 `json:"lastSeconds,omitempty"`
}

// UpgradePlanFinding is something that stands against an upgrade, or is to be known.
type UpgradePlanFinding struct {
	// Check that found it; an upgrade can ignore it by this name.
	Check    string `json:"check"`
	Severity string `json:"severity" enum:"Blocks,Warns"`
	// Object that it is about, such as "PodDisruptionBudget shop/web".
	Object  string `json:"object,omitempty"`
	Message string `json:"message"`
	Fix     string `json:"fix,omitempty"`
}
