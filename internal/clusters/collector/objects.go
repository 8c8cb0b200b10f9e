package collector

import "time"

// The types here are what is decoded of objects: an answer is trimmed while it is read, and what is not named here is never kept.

// meta is the metadata of an object.
type meta struct {
	Name            string            `json:"name"`
	Namespace       string            `json:"namespace"`
	UID             string            `json:"uid"`
	ResourceVersion string            `json:"resourceVersion"`
	Labels          map[string]string `json:"labels"`
	Owners          []owner           `json:"ownerReferences"`
	Annotations     struct {
		Mirror       string `json:"kubernetes.io/config.mirror"`
		IngressClass string `json:"kubernetes.io/ingress.class"`
	} `json:"annotations"`
}

type owner struct {
	Kind       string `json:"kind"`
	Name       string `json:"name"`
	UID        string `json:"uid"`
	Controller bool   `json:"controller"`
}

// controller is the owner that manages the object; the zero owner for none.
func (m *meta) controller() owner {
	for _, o := range m.Owners {
		if o.Controller {
			return o
		}
	}
	return owner{}
}

// object is one with metadata alone, and what every other one begins with.
type object struct {
	Meta meta `json:"metadata"`
}

func (o *object) metadata() *meta { return &o.Meta }

type container struct {
	Name          string `json:"name"`
	Image         string `json:"image"`
	RestartPolicy string `json:"restartPolicy"`
}

type containerState struct {
	Name    string `json:"name"`
	ImageID string `json:"imageID"`
	State   struct {
		Waiting *struct {
			Reason string `json:"reason"`
		} `json:"waiting"`
		Terminated *struct {
			Reason   string `json:"reason"`
			ExitCode int32  `json:"exitCode"`
		} `json:"terminated"`
	} `json:"state"`
}

type condition struct {
	Type    string `json:"type"`
	Status  string `json:"status"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

type pod struct {
	object
	Spec struct {
		NodeName   string      `json:"nodeName"`
		Containers []container `json:"containers"`
		Init       []container `json:"initContainers"`
		Ephemeral  []container `json:"ephemeralContainers"`
	} `json:"spec"`
	Status struct {
		Phase      string           `json:"phase"`
		Reason     string           `json:"reason"`
		Conditions []condition      `json:"conditions"`
		Containers []containerState `json:"containerStatuses"`
		Init       []containerState `json:"initContainerStatuses"`
		Ephemeral  []containerState `json:"ephemeralContainerStatuses"`
	} `json:"status"`
}

type resources struct {
	CPU     string `json:"cpu"`
	Memory  string `json:"memory"`
	Pods    string `json:"pods"`
	Storage string `json:"storage"`
}

type node struct {
	object
	Spec struct {
		Unschedulable bool `json:"unschedulable"`
	} `json:"spec"`
	Status struct {
		Capacity    resources   `json:"capacity"`
		Allocatable resources   `json:"allocatable"`
		Conditions  []condition `json:"conditions"`
		Info        struct {
			Kubelet      string `json:"kubeletVersion"`
			Runtime      string `json:"containerRuntimeVersion"`
			Kernel       string `json:"kernelVersion"`
			OS           string `json:"osImage"`
			Architecture string `json:"architecture"`
		} `json:"nodeInfo"`
	} `json:"status"`
}

// workload is a Deployment, StatefulSet, DaemonSet, Job or CronJob: the fields of one are absent in the others.
type workload struct {
	object
	Spec struct {
		Replicas    *int32 `json:"replicas"`
		Completions *int32 `json:"completions"`
		Selector    struct {
			MatchLabels map[string]string `json:"matchLabels"`
		} `json:"selector"`
	} `json:"spec"`
	Status struct {
		Ready            int32 `json:"readyReplicas"`
		DesiredScheduled int32 `json:"desiredNumberScheduled"`
		NumberReady      int32 `json:"numberReady"`
		Succeeded        int32 `json:"succeeded"`
	} `json:"status"`
}

type address struct {
	IP       string `json:"ip"`
	Hostname string `json:"hostname"`
}

type service struct {
	object
	Spec struct {
		Type     string            `json:"type"`
		Selector map[string]string `json:"selector"`
		Ports    []struct {
			Protocol string `json:"protocol"`
			Port     int32  `json:"port"`
		} `json:"ports"`
	} `json:"spec"`
	Status struct {
		LoadBalancer struct {
			Ingress []address `json:"ingress"`
		} `json:"loadBalancer"`
	} `json:"status"`
}

type backend struct {
	Service struct {
		Name string `json:"name"`
	} `json:"service"`
}

type ingress struct {
	object
	Spec struct {
		Class   string  `json:"ingressClassName"`
		Default backend `json:"defaultBackend"`
		TLS     []struct {
			Secret string `json:"secretName"`
		} `json:"tls"`
		Rules []struct {
			Host string `json:"host"`
			HTTP struct {
				Paths []struct {
					Backend backend `json:"backend"`
				} `json:"paths"`
			} `json:"http"`
		} `json:"rules"`
	} `json:"spec"`
}

// volume is a PersistentVolume or a PersistentVolumeClaim.
type volume struct {
	object
	Spec struct {
		StorageClass string    `json:"storageClassName"`
		Volume       string    `json:"volumeName"`
		Capacity     resources `json:"capacity"`
	} `json:"spec"`
	Status struct {
		Phase    string    `json:"phase"`
		Capacity resources `json:"capacity"`
	} `json:"status"`
}

// secret is the public part of a Secret of type kubernetes.io/tls.
type secret struct {
	object
	Data struct {
		Certificate []byte `json:"tls.crt"`
	} `json:"data"`
}

type event struct {
	object
	Type     string `json:"type"`
	Reason   string `json:"reason"`
	Message  string `json:"message"`
	Involved struct {
		Kind      string `json:"kind"`
		Namespace string `json:"namespace"`
		Name      string `json:"name"`
		UID       string `json:"uid"`
	} `json:"involvedObject"`
	Last   *time.Time `json:"lastTimestamp"`
	First  *time.Time `json:"firstTimestamp"`
	At     *time.Time `json:"eventTime"`
	Series struct {
		Last *time.Time `json:"lastObservedTime"`
	} `json:"series"`
}
