package launch

import (
	"bytes"
	"context"
	_ "embed" // the manifests
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/template"

	"github.com/zkbench/zkbench/results/list"
)

//go:embed job.yaml
var embedded string

// KubernetesOptions are about workers in pods. An empty field leaves the decision to kubectl or to the cluster.
type KubernetesOptions struct {
	Image     string // has zkbench as its entry point, and the build of the controller
	Namespace string
	Context   string            // of the kubeconfig
	CPU       string            // of each worker, as request and limit; whole CPUs suit the static CPU policy
	Memory    string            // likewise
	AwayFrom  map[string]string // labels of the ZooKeeper pods: no worker comes to a node of such a pod
	Secrets   map[string]string // existing Secrets, and the path at which each is mounted
	Spread    string            // label of nodes over which workers are spread evenly; kubernetes.io/hostname if empty
}

// kubernetes starts workers as the pods of a Job. The templates read its exported fields.
type kubernetes struct {
	*run
	Number  int
	UID     string // of the Job, once it exists
	created bool
}

func (o KubernetesOptions) kubectl(ctx context.Context, stdin io.Reader, args ...string) (string, error) {
	cmd := command(ctx, append([]string{"kubectl", "--context=" + o.Context, "--namespace=" + o.Namespace}, args...)...)
	cmd.Stdin = stdin
	return output(ctx, cmd)
}

// start creates the Job, then its Secret, which belongs to it: pods wait for it.
func (k *kubernetes) start(ctx context.Context) (err error) {
	k.UID, err = k.create(ctx, "job")
	k.created = err == nil || !strings.Contains(err.Error(), "AlreadyExists") // any other call that fails may have created it
	if err != nil {
		return err
	}
	k.Say("created the Job " + k.Name)
	k.running.Go(func() { k.report(k.life) })
	_, err = k.create(ctx, "secret")
	return err
}

// create creates the object of a template, and returns its uid. `kubectl apply` would repeat the token in an annotation.
func (k *kubernetes) create(ctx context.Context, name string) (uid string, err error) {
	var manifest bytes.Buffer
	volume := func(secret string) string { return label("secret-" + secret) }
	templates := template.Must(template.New("").Funcs(template.FuncMap{"quote": strconv.Quote, "volume": volume}).Parse(embedded))
	if err := templates.ExecuteTemplate(&manifest, name, k); err != nil {
		return "", err
	}
	return k.Kubernetes.kubectl(ctx, &manifest, "create", "--validate=strict", "-f", "-", "-o", "jsonpath={.metadata.uid}")
}

// report waits until the Job fails, which is after its pods have ended. Without the right to watch it reports nothing.
func (k *kubernetes) report(ctx context.Context) {
	why, err := k.Kubernetes.kubectl(ctx, nil, "wait", "job/"+k.Name, "--for=condition=Failed", "--timeout=-1s",
		"-o", `jsonpath={.status.conditions[?(@.type=="Failed")].message}`)
	if err == nil {
		k.exited <- strings.TrimSpace(fmt.Sprintf("the Job %s failed: %s\n%s", k.Name, why, k.Missing(ctx)))
	}
}

// object is what is read of Jobs, pods and events. Its names are those of the Kubernetes API.
type object struct {
	Metadata struct{ Name string }
	Spec     struct{ NodeName string }
	Status   struct {
		Ready             int // pods of a Job
		Phase             string
		Conditions        []cause
		ContainerStatuses []struct{ State map[string]cause }
	}
	InvolvedObject struct{ Name string }
	cause
}

type cause struct {
	Type, Status, Reason, Message string
	ExitCode                      int
}

func (o KubernetesOptions) list(ctx context.Context, args ...string) ([]object, error) {
	out, err := o.kubectl(ctx, nil, append([]string{"get", "-o", "json"}, args...)...)
	var found struct{ Items []object }
	if err == nil {
		err = json.Unmarshal([]byte(out), &found)
	}
	return found.Items, err
}

func (k *kubernetes) Missing(ctx context.Context) string {
	pods, err := k.Kubernetes.list(ctx, "pods", "-l", "zkbench.run="+k.Name)
	if err != nil {
		return err.Error()
	}
	waits, objects := map[string]bool{k.Name: true}, map[string][]string{} // the objects that wait; those with each reason
	for _, pod := range pods {
		if pod.Status.Phase != "Running" {
			waits[pod.Metadata.Name] = true
			objects[pod.reason()] = append(objects[pod.reason()], pod.Metadata.Name)
		}
	}
	// Without the right to read events, the status of the pods has to do.
	events, _ := k.Kubernetes.list(ctx, "events", "--field-selector", "type=Warning")
	for _, e := range events {
		if reason := e.Reason + ": " + e.Message; waits[e.InvolvedObject.Name] {
			objects[reason] = append(objects[reason], e.InvolvedObject.Name)
		}
	}
	var lines []string
	for reason, names := range objects {
		lines = append(lines, strings.Join(names, ", ")+": "+reason)
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// reason returns why a pod does not run.
func (o object) reason() string {
	for _, c := range o.Status.ContainerStatuses {
		if end, ended := c.State["terminated"]; ended {
			return fmt.Sprintf("%s with exit code %d on node %s: %s", end.Reason, end.ExitCode, o.Spec.NodeName, lastLines(end.Message))
		} else if wait, waits := c.State["waiting"]; waits {
			return strings.TrimSuffix(wait.Reason+": "+wait.Message, ": ")
		}
	}
	for _, c := range o.Status.Conditions {
		if c.Type == "PodScheduled" && c.Status == "False" {
			return c.Reason + ": " + c.Message
		}
	}
	return o.Status.Phase
}

func (k *kubernetes) End(ctx context.Context) error {
	if !k.created {
		return nil
	}
	k.stop()
	k.running.Wait()
	_, err := k.Kubernetes.remove(ctx, "job/"+k.Name, "secret/"+k.Name)
	return err
}

// clean removes the Jobs of which no pod is ready: workers end some seconds after their controller. Their Secrets go with them.
func (k *kubernetes) clean(ctx context.Context) ([]string, error) {
	jobs, err := k.Kubernetes.list(ctx, "jobs", "-l", "app.kubernetes.io/managed-by=zkbench")
	left := list.Where(jobs, func(job object) bool { return job.Status.Ready == 0 })
	if len(left) == 0 {
		return nil, err
	}
	return k.Kubernetes.remove(ctx, list.Map(left, func(job object) string { return "job/" + job.Metadata.Name })...)
}

// remove deletes objects, and waits until the pods are gone.
func (o KubernetesOptions) remove(ctx context.Context, names ...string) ([]string, error) {
	out, err := o.kubectl(ctx, nil, append([]string{"delete", "--ignore-not-found", "--cascade=foreground", "--wait", "--timeout=60s",
		"-o", "name"}, names...)...)
	return strings.Fields(out), err
}
