// Package kubernetes decodes manifests and answers with Kubernetes' own types.
//
// It takes one position: what zkbench sends to a cluster, and what tests pretend that a cluster answers, has no field that Kubernetes
// does not know. `go test ./scenarios/launch` runs it.
package kubernetes

import (
	"os"
	"strings"
	"testing"

	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	"sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

// strict decodes as the API server does with strict validation: unknown and repeated fields are errors.
func strict(text string, into any) error {
	encoded, err := yaml.YAMLToJSONStrict([]byte(text))
	if err != nil {
		return err
	}
	unknown, err := json.UnmarshalStrict(encoded, into)
	for _, e := range unknown {
		return e
	}
	return err
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestStrict(t *testing.T) {
	for name, into := range map[string]any{
		"job.yaml":       &batch.Job{},
		"job_plain.yaml": &batch.Job{},
		"secret.yaml":    &core.Secret{},
		"pods.json":      &core.PodList{},
		"events.json":    &core.EventList{},
		"jobs.json":      &batch.JobList{},
	} {
		if err := strict(read(t, name), into); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestRefusesMistakes(t *testing.T) {
	manifest := read(t, "job.yaml")
	for _, mistake := range [][2]string{
		{"backoffLimit:", "backofLimit:"},
		{"topologyKey:", "topologykey:"},
		{"runAsUser: 65532", `runAsUser: "65532"`},
		{"readOnly: true", "readOnly: true, readOnly: true"},
	} {
		wrong := strings.Replace(manifest, mistake[0], mistake[1], 1)
		if err := strict(wrong, &batch.Job{}); wrong == manifest || err == nil {
			t.Errorf("%s instead of %s was not refused", mistake[1], mistake[0])
		}
	}
}

// The fields have the meaning that launch relies on.
func TestMeaning(t *testing.T) {
	var job batch.Job
	if err := strict(read(t, "job.yaml"), &job); err != nil {
		t.Fatal(err)
	}
	spec, pod := job.Spec, job.Spec.Template.Spec
	worker := pod.Containers[0]
	limits, requests := worker.Resources.Limits, worker.Resources.Requests
	for what, holds := range map[string]bool{
		"indexed, one pod for each worker":   *spec.CompletionMode == batch.IndexedCompletion && *spec.Completions == 8,
		"never replaced":                     *spec.BackoffLimit == 0 && pod.RestartPolicy == core.RestartPolicyNever,
		"all at once":                        *spec.Parallelism == 8,
		"none beside one that ends":          *spec.PodReplacementPolicy == batch.Failed,
		"ends and goes by itself":            *spec.ActiveDeadlineSeconds == 86400 && *spec.TTLSecondsAfterFinished == 600,
		"no account of the cluster":          !*pod.AutomountServiceAccountToken,
		"CPU and memory are guaranteed":      limits.Cpu().Equal(*requests.Cpu()) && limits.Cpu().Value() == 2,
		"not beside ZooKeeper":               len(pod.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution) == 1,
		"spread, but not strictly beside it": pod.TopologySpreadConstraints[0].WhenUnsatisfiable == core.ScheduleAnyway,
		"the token is a file":                pod.Volumes[0].Secret.SecretName == job.Name && *pod.Volumes[0].Secret.DefaultMode == 0o440 && worker.VolumeMounts[0].ReadOnly,
		"not root":                           *pod.SecurityContext.RunAsNonRoot && !*worker.SecurityContext.AllowPrivilegeEscalation,
		"its lines are kept":                 worker.TerminationMessagePolicy == core.TerminationMessageFallbackToLogsOnError,
	} {
		if !holds {
			t.Errorf("the manifest is wrong: %s", what)
		}
	}
}
