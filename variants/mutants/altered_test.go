package mutants_test

import (
	"cmp"
	"context"
	"errors"
	"path"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/session"
)

// site is a place in the code of variants at which a request is sent.
type site struct {
	file    string // below variants
	line    int
	request string // the operation of session.Conn
}

func (s site) compare(other site) int {
	return cmp.Or(strings.Compare(s.file, other.file), s.line-other.line, strings.Compare(s.request, other.request))
}

// The changes of a site. None of them changes what an algorithm does, except that a watch may fire.
const (
	afterSync   = "after a sync"
	afterExists = "after an exists"
	twice       = "twice"
	watching    = "with a watch"
	dearer      = "by a dearer request"
	leftOut     = "left out" // the answer is the usual one
)

// changesOf returns the changes of a request.
func changesOf(request string) []string {
	return map[string][]string{
		"Create":    {afterSync, afterExists, dearer},
		"Delete":    {afterSync, afterExists, dearer},
		"Set":       {afterSync, afterExists, dearer},
		"Multi":     {afterSync, afterExists, dearer},
		"Sync":      {twice, afterExists, leftOut},
		"Exists":    {afterSync, twice, watching, dearer, leftOut},
		"Get":       {afterSync, twice, watching},
		"Children":  {afterSync, twice, watching},
		"ExistsW":   {afterSync, twice, dearer},
		"GetW":      {afterSync, twice},
		"ChildrenW": {afterSync, twice},
	}[request]
}

// alteration is a change of one site, in all requests that are sent there. Without a change, it notes the sites that are reached.
type alteration struct {
	site
	change string

	mu      sync.Mutex
	reached map[site]bool // false for those that are only reached while clients join, which is not counted
}

// in makes the participants of a variant send their requests with the alteration, once they have joined. The runner has the same session,
// so that its content is replaced.
func (a *alteration) in(join variants.JoinFunc) variants.JoinFunc {
	return func(ctx context.Context, env variants.Env) (variants.Participant, error) {
		joined := new(atomic.Bool)
		defer joined.Store(true)
		alter := func(s *session.Session) { *s = *s.Through(altered{s.Conn(), a, joined}) }
		alter(env.Session)
		dial := env.Dial
		env.Dial = func(ctx context.Context) (*session.Session, func(), error) {
			s, hangUp, err := dial(ctx)
			if err == nil {
				alter(s)
			}
			return s, hangUp, err
		}
		return join(ctx, env)
	}
}

// altered is a connection whose requests are sent with an alteration.
type altered struct {
	session.Conn
	*alteration
	joined *atomic.Bool
}

// changes notes the site of a request, sends what its change sends before it, and returns the change.
func (c altered) changes(request, path string) string {
	at, joined := present(request), c.joined.Load()
	c.mu.Lock()
	c.reached[at] = c.reached[at] || joined
	c.mu.Unlock()
	if at != c.site || !joined {
		return ""
	}
	switch c.change {
	case afterSync:
		_, _ = c.Conn.Sync(path)
	case afterExists:
		_, _, _ = c.Conn.Exists(path)
	}
	return c.change
}

// operations send a request for the code that calls them: a pattern of their file and function.
var operations = regexp.MustCompile(`^(mutants/|session/(session|conn)\.go|session/journal\.go session\.\(\*Journal\)\.Do$)`)

// present returns the site of the request under way: the innermost call in the code of variants that is not in one of the operations.
func present(request string) site {
	callers := make([]uintptr, 64)
	frames := runtime.CallersFrames(callers[:runtime.Callers(0, callers)])
	for more := true; more; {
		var f runtime.Frame
		f, more = frames.Next()
		_, function, known := strings.Cut(f.Function, "zkbench/variants/")
		dir, name := path.Split(f.File) // not of the function: one that is inlined takes its literals into the package of its caller
		file := path.Join(path.Base(dir), name)
		if known && !operations.MatchString(file+" "+function) {
			return site{file, f.Line, request}
		}
	}
	return site{request: request}
}

func (c altered) Create(path string, data []byte, flags int32, acl []zk.ACL) (string, error) {
	if c.changes("Create", path) == dearer {
		r, err := c.alone(&zk.CreateRequest{Path: path, Data: data, Flags: flags, Acl: acl})
		return r.String, err
	}
	return c.Conn.Create(path, data, flags, acl)
}

func (c altered) Delete(path string, version int32) error {
	if c.changes("Delete", path) == dearer {
		_, err := c.alone(&zk.DeleteRequest{Path: path, Version: version})
		return err
	}
	return c.Conn.Delete(path, version)
}

func (c altered) Set(path string, data []byte, version int32) (*zk.Stat, error) {
	if c.changes("Set", path) == dearer {
		r, err := c.alone(&zk.SetDataRequest{Path: path, Data: data, Version: version})
		return r.Stat, err
	}
	return c.Conn.Set(path, data, version)
}

// alone makes a write in a multi of its own.
func (c altered) alone(write any) (zk.MultiResponse, error) {
	results, err := c.Conn.Multi(write)
	if len(results) == 0 {
		return zk.MultiResponse{}, err
	}
	return results[0], err
}

// Multi checks one znode more if it is dearer.
func (c altered) Multi(ops ...any) ([]zk.MultiResponse, error) {
	if c.changes("Multi", reflect.ValueOf(ops[0]).Elem().FieldByName("Path").String()) == dearer {
		results, err := c.Conn.Multi(append(slices.Clone(ops), &zk.CheckVersionRequest{Path: "/", Version: -1})...)
		return results[:min(len(ops), len(results))], err
	}
	return c.Conn.Multi(ops...)
}

func (c altered) Sync(path string) (string, error) {
	switch c.changes("Sync", path) {
	case leftOut:
		return path, nil
	case twice:
		_, _ = c.Conn.Sync(path)
	}
	return c.Conn.Sync(path)
}

func (c altered) Exists(path string) (bool, *zk.Stat, error) {
	return read(c, "Exists", path, session.Conn.Exists, session.Conn.ExistsW, existsByGet)
}

func (c altered) Get(path string) ([]byte, *zk.Stat, error) {
	return read(c, "Get", path, session.Conn.Get, session.Conn.GetW, nil)
}

func (c altered) Children(path string) ([]string, *zk.Stat, error) {
	return read(c, "Children", path, session.Conn.Children, session.Conn.ChildrenW, nil)
}

func (c altered) ExistsW(path string) (bool, *zk.Stat, <-chan zk.Event, error) {
	return readW(c, "ExistsW", path, session.Conn.ExistsW, existsByGetW)
}

func (c altered) GetW(path string) ([]byte, *zk.Stat, <-chan zk.Event, error) {
	return readW(c, "GetW", path, session.Conn.GetW, nil)
}

func (c altered) ChildrenW(path string) ([]string, *zk.Stat, <-chan zk.Event, error) {
	return readW(c, "ChildrenW", path, session.Conn.ChildrenW, nil)
}

type (
	reading[T any]  = func(c session.Conn, path string) (T, *zk.Stat, error)
	readingW[T any] = func(c session.Conn, path string) (T, *zk.Stat, <-chan zk.Event, error)
)

func read[T any](c altered, request, path string, op reading[T], withWatch readingW[T], byMore reading[T]) (T, *zk.Stat, error) {
	switch c.changes(request, path) {
	case twice:
		_, _, _ = op(c.Conn, path)
	case watching:
		value, stat, _, err := withWatch(c.Conn, path)
		return value, stat, err
	case dearer:
		return byMore(c.Conn, path)
	case leftOut:
		var usual T
		return usual, nil, nil
	}
	return op(c.Conn, path)
}

func readW[T any](c altered, request, path string, op, byMore readingW[T]) (T, *zk.Stat, <-chan zk.Event, error) {
	switch c.changes(request, path) {
	case twice:
		_, _, _, _ = op(c.Conn, path)
	case dearer:
		return byMore(c.Conn, path)
	}
	return op(c.Conn, path)
}

func existsByGet(c session.Conn, path string) (bool, *zk.Stat, error) {
	_, stat, err := c.Get(path)
	if errors.Is(err, zk.ErrNoNode) {
		return false, nil, nil
	}
	return err == nil, stat, err
}

// existsByGetW needs an exists, too, to watch a znode that does not exist.
func existsByGetW(c session.Conn, path string) (bool, *zk.Stat, <-chan zk.Event, error) {
	_, stat, events, err := c.GetW(path)
	if errors.Is(err, zk.ErrNoNode) {
		return c.ExistsW(path)
	}
	return err == nil, stat, events, err
}
