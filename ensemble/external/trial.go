package external

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/wire"
)

// trialTimeout bounds a trial as a whole, also on a machine that is overloaded. The client library takes up to a second more to close a
// session.
const trialTimeout = 10 * time.Second

type trial struct {
	peers  []peer
	conns  []*zk.Conn
	chroot string
}

func try(ctx context.Context, peers []peer, chroot string, use func(*trial, context.Context) error) error {
	t := trial{peers: slices.Clone(peers), conns: make([]*zk.Conn, len(peers)), chroot: chroot}
	trying, cancel := context.WithTimeoutCause(ctx, trialTimeout, fmt.Errorf("no answer within %s", trialTimeout))
	defer cancel()
	err := t.run(trying, use)
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx) // interrupted: the error is not about a server
	}
	return err
}

func (t *trial) run(ctx context.Context, use func(*trial, context.Context) error) error {
	// The first one writes. After the leader has answered, a sync through any other server makes the write visible there: the
	// leader sends its followers the commit before it answers, and the reply to the sync later.
	if i := slices.IndexFunc(t.peers, func(p peer) bool { return p.status.Role == ensemble.Leader }); i > 0 {
		t.peers[0], t.peers[i] = t.peers[i], t.peers[0]
	}
	defer t.close()
	if err := inParallel(len(t.peers), func(i int) error { return t.connect(ctx, i) }); err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, t.close) // the client's requests take no context
	defer stop()
	return use(t, ctx)
}

func (t *trial) stalled(ctx context.Context, i int, what string) error {
	return fmt.Errorf("%s did not %s: check that neither it nor the majority of its ensemble is stopped or overloaded: %w",
		t.peers[i].Name, what, context.Cause(ctx))
}

func (t *trial) connect(ctx context.Context, i int) (err error) {
	t.conns[i], err = ensemble.Connect(ctx, t.peers[i].Server, wire.NewLedger(time.Now()), nil)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil && errors.Is(err, context.Cause(ctx)): // not after a failure for another reason
		return t.stalled(ctx, i, "open a session")
	default:
		return t.peers[i].named(err)
	}
}

// close ends the sessions. It may be called more than once.
func (t *trial) close() {
	_ = inParallel(len(t.conns), func(i int) error {
		if t.conns[i] != nil {
			t.conns[i].Close()
		}
		return nil
	})
}

// write checks that a znode can be created and deleted, and compares the servers while it exists.
func (t *trial) write(ctx context.Context) error {
	if err := t.findChroot(ctx); err != nil {
		return err
	}
	probe := t.chroot + "/zkbench-probe-" + rand.Text()
	if _, err := t.conns[0].Create(probe, nil, zk.FlagEphemeral, t.peers[0].ACL()); err != nil {
		return t.explain(ctx, 0, "create", err)
	}
	compared := t.compare(ctx, probe)
	if compared != nil && ctx.Err() != nil {
		return compared // the sessions are closed, which has deleted the znode
	}
	if err := t.conns[0].Delete(probe, -1); err != nil {
		return errors.Join(compared, t.explain(ctx, 0, "delete", err))
	}
	return compared
}

// read asks each server for a znode, and looks for the chroot and for twins.
func (t *trial) read(ctx context.Context) (lines []string, err error) {
	for i, p := range t.peers {
		began := time.Now()
		if _, _, err := t.conns[i].Exists("/"); err != nil {
			return nil, t.explain(ctx, i, "look for", err)
		}
		limit := cmp.Or(p.config["maxClientCnxns"], "unknown, as conf is not allowed")
		lines = append(lines, fmt.Sprintf("%s: %s, accepts sessions, answers a read within %s, maxClientCnxns (0: no limit) is %s",
			p.Name, p.status.Role, time.Since(began).Round(time.Microsecond), limit))
	}
	return append(lines, "all servers: a quorum with one leader, or a standalone server; all answer",
			"chroot, which exists: "+cmp.Or(t.chroot, "/"),
			"not checked, as this needs a znode: that znodes may be created and deleted, and that all servers see them"),
		errors.Join(t.findChroot(ctx), t.findTwins())
}

// findChroot returns an error for a missing chroot, with the commands that create it. It does not create it, because the owner decides
// on its permissions.
func (t *trial) findChroot(ctx context.Context) error {
	var missing []string
	for at := t.chroot; at != ""; at = at[:strings.LastIndexByte(at, '/')] {
		found, _, err := t.conns[0].Exists(at)
		if err != nil {
			return t.explain(ctx, 0, "look for", err)
		}
		if found {
			break
		}
		missing = append(missing, fmt.Sprintf("\n  zkCli.sh -server %s create %s", t.peers[0].Name, at))
	}
	if missing == nil {
		return nil
	}
	slices.Reverse(missing)
	return fmt.Errorf("the chroot %s does not exist: create it first, by%s", t.chroot, strings.Join(missing, ""))
}

// sessionNeedsSASL is the client library's text for ZooKeeper's error code SESSIONCLOSEDREQUIRESASLAUTH.
const sessionNeedsSASL = "unknown error: -124"

func (t *trial) explain(ctx context.Context, i int, verb string, err error) error {
	name, base := t.peers[i].Name, cmp.Or(t.chroot, "/")
	switch {
	case ctx.Err() != nil && (errors.Is(err, zk.ErrConnectionClosed) || errors.Is(err, zk.ErrClosing)): // see close
		return t.stalled(ctx, i, "answer a request to "+verb+" znodes")
	case errors.Is(err, zk.ErrNoChildrenForEphemerals):
		return fmt.Errorf("%s: the chroot %s is an ephemeral znode, which cannot have children: choose a persistent one", name, base)
	default:
		return Denied(t.peers[i].Server, verb, base, err)
	}
}

// Denied returns the error of a request for znodes in base. It says what is missing if the server did not permit the request.
func Denied(s ensemble.Server, verb, base string, err error) error {
	noUser, noScheme := errors.Is(err, zk.ErrNoAuth), strings.Contains(err.Error(), sessionNeedsSASL)
	switch {
	case noUser && s.Auth != nil: // ZooKeeper accepts every password, and gives each a user of its own
		return fmt.Errorf("%s: the user of --auth has no permission to %s znodes in %s: its password is wrong, or the ACL there does not "+
			"name it with the rights cdrwa:\n  zkCli.sh -server %[1]s getAcl %[3]s", s.Name, verb, base)
	case noUser:
		return fmt.Errorf("%s: no permission to %s znodes in %s: give a user who has it by --auth digest:FILE, let an owner grant "+
			"world:anyone the rights cdrwa there, or create a znode for zkbench and add it to --servers as chroot:\n  "+
			"zkCli.sh -server %[1]s create %[4]s/bench \"\" world:anyone:cdrwa", s.Name, verb, base, strings.TrimSuffix(base, "/"))
	case noScheme && s.Auth != nil:
		return fmt.Errorf("%s does not accept the scheme %s: it demands another one, such as SASL or Kerberos, which zkbench "+
			"does not have: add %[2]s to its enforce.auth.schemes, or unset sessionRequireClientSASLAuth", s.Name, s.Auth)
	case noScheme:
		return Mistake{fmt.Errorf("%s accepts only clients that authenticate themselves: give --auth digest:FILE if its "+
			"enforce.auth.schemes has digest; zkbench has neither SASL nor Kerberos (sessionRequireClientSASLAuth)", s.Name)}
	}
	return fmt.Errorf("%s: %s znodes in %s: %w", s.Name, verb, base, err)
}

// compare returns an error if a server does not see the znode of the first one, or if two addresses lead to one server.
func (t *trial) compare(ctx context.Context, probe string) error {
	var errs []error
	for i := 1; i < len(t.peers); i++ {
		err := t.sees(ctx, i, probe)
		errs = append(errs, err)
		if err != nil && ctx.Err() != nil {
			break // the others were not asked in time
		}
	}
	return cmp.Or(errors.Join(errs...), t.findTwins())
}

// findTwins returns an error if two addresses lead to one server.
func (t *trial) findTwins() error {
	var errs []error
	for i := range t.peers {
		for k := range i {
			if t.same(k, i) {
				errs = append(errs, Mistake{fmt.Errorf("%s and %s are the same server under two addresses: give each server once",
					t.peers[k].Name, t.peers[i].Name)})
			}
		}
	}
	return errors.Join(errs...)
}

// sees returns an error if a server does not see the znode of the first one.
func (t *trial) sees(ctx context.Context, i int, probe string) error {
	if err := ensemble.Fence(t.conns[i]); err != nil {
		return t.explain(ctx, i, "sync", err)
	}
	found, _, err := t.conns[i].Exists(probe)
	if err != nil {
		return t.explain(ctx, i, "look for", err)
	}
	if found {
		return nil
	}
	advice := "give servers of one ensemble only"
	if t.peers[0].status.Role == ensemble.Standalone {
		advice = "both stand alone: give one of them, or join them into an ensemble"
	}
	return Mistake{fmt.Errorf("%s and %s are unrelated servers (a znode created through the first is not there on the second): %s",
		t.peers[0].Name, t.peers[i].Name, advice)}
}

// same reports whether two addresses with the same znodes lead to one server. Two leaders or standalone servers do. Others
// differ in their server ids, which are in the settings or in the highest byte of session ids, where ids above 255 are truncated.
func (t *trial) same(a, b int) bool {
	p, q := t.peers[a], t.peers[b]
	if r := p.status.Role; r == q.status.Role && (r == ensemble.Leader || r == ensemble.Standalone) {
		return true
	}
	if p.status.Role != q.status.Role || p.config["serverId"] != q.config["serverId"] {
		return false
	}
	id, other := t.conns[a].SessionID()>>56, t.conns[b].SessionID()>>56
	return id != 0 && id == other // zero: another server than Apache ZooKeeper, with other session ids
}
