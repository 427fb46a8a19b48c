//go:build linux

package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"
)

// tab is one page of the browser.
type tab struct {
	b       *browser
	session string
	target  string
}

// size is the size of a screen, and how it looks.
type size struct {
	name   string
	width  int
	height int
	phone  bool
	dark   bool
}

// tab opens an empty page on a screen.
func (b *browser) tab(ctx context.Context, s size) (*tab, error) {
	var made struct {
		TargetID string `json:"targetId"`
	}
	if err := b.call(ctx, "", "Target.createTarget", map[string]any{"url": "about:blank"}, &made); err != nil {
		return nil, err
	}
	var attached struct {
		SessionID string `json:"sessionId"`
	}
	if err := b.call(ctx, "", "Target.attachToTarget", map[string]any{"targetId": made.TargetID, "flatten": true}, &attached); err != nil {
		return nil, err
	}
	t := &tab{b: b, session: attached.SessionID, target: made.TargetID}
	scheme := "light"
	if s.dark {
		scheme = "dark"
	}
	return t, errors.Join(
		t.call(ctx, "Page.enable", nil), t.call(ctx, "Runtime.enable", nil), t.call(ctx, "Log.enable", nil), t.call(ctx, "Network.enable", nil),
		t.call(ctx, "Emulation.setDeviceMetricsOverride", map[string]any{"width": s.width, "height": s.height, "deviceScaleFactor": scale(s), "mobile": s.phone}),
		t.call(ctx, "Emulation.setTouchEmulationEnabled", map[string]any{"enabled": s.phone, "maxTouchPoints": 5}),
		t.call(ctx, "Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{{"name": "prefers-color-scheme", "value": scheme}}}),
	)
}

func scale(s size) int {
	if s.phone {
		return 2
	}
	return 1
}

func (t *tab) call(ctx context.Context, method string, params any) error {
	return t.b.call(ctx, t.session, method, params, nil)
}

// close closes the page.
func (t *tab) close(ctx context.Context) error {
	return t.b.call(ctx, "", "Target.closeTarget", map[string]any{"targetId": t.target}, nil)
}

// open opens a file, and waits until its chart is drawn.
func (t *tab) open(ctx context.Context, url string) error {
	if err := t.call(ctx, "Page.navigate", map[string]any{"url": url}); err != nil {
		return err
	}
	return t.until(ctx, `performance.getEntriesByName("chart").length > 0`)
}

// eval evaluates an expression in the page, and decodes its value into value unless that is nil. It awaits a promise.
func (t *tab) eval(ctx context.Context, expression string, value any) error {
	var got struct {
		Result struct {
			Value json.RawMessage `json:"value"`
		} `json:"result"`
		ExceptionDetails *struct {
			Text      string `json:"text"`
			Exception struct {
				Description string `json:"description"`
			} `json:"exception"`
		} `json:"exceptionDetails"`
	}
	params := map[string]any{"expression": expression, "returnByValue": true, "awaitPromise": true}
	if err := t.b.call(ctx, t.session, "Runtime.evaluate", params, &got); err != nil {
		return err
	}
	if e := got.ExceptionDetails; e != nil {
		return fmt.Errorf("%s: %s %s", expression, e.Text, e.Exception.Description)
	}
	if value == nil || len(got.Result.Value) == 0 {
		return nil
	}
	return json.Unmarshal(got.Result.Value, value)
}

// until waits until an expression is true, for a while.
func (t *tab) until(ctx context.Context, expression string) error {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	for {
		ok := false
		if err := t.eval(ctx, expression, &ok); err != nil {
			return err
		}
		if ok {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s: not true: %w", expression, ctx.Err())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// frame waits until the page has drawn what was asked for.
func (t *tab) frame(ctx context.Context) error {
	return t.eval(ctx, `new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))`, nil)
}

// box is a place in the window.
type box struct{ X, Y, Width, Height float64 }

// box scrolls to an element, and returns its place.
func (t *tab) box(ctx context.Context, selector string) (b box, err error) {
	err = t.eval(ctx, fmt.Sprintf(`(e => { e.scrollIntoView({block: "nearest"}); const r = e.getBoundingClientRect(); return {X: r.x, Y: r.y, Width: r.width, Height: r.height}; })(document.querySelector(%q))`, selector), &b)
	return b, err
}

// mouse sends one event of the mouse.
func (t *tab) mouse(ctx context.Context, kind string, x, y float64, more map[string]any) error {
	params := map[string]any{"type": kind, "x": x, "y": y}
	if kind == "mousePressed" || kind == "mouseReleased" {
		params["button"], params["clickCount"] = "left", 1
	}
	if kind == "mouseMoved" {
		params["buttons"] = 0
	}
	for k, v := range more {
		params[k] = v
	}
	return t.call(ctx, "Input.dispatchMouseEvent", params)
}

// drag presses the mouse at one place, moves it, and releases it at another.
func (t *tab) drag(ctx context.Context, x1, y1, x2, y2 float64) error {
	held := map[string]any{"button": "left", "buttons": 1}
	err := errors.Join(t.mouse(ctx, "mouseMoved", x1, y1, nil), t.mouse(ctx, "mousePressed", x1, y1, nil))
	for i := range 5 {
		part := float64(i+1) / 5
		err = errors.Join(err, t.mouse(ctx, "mouseMoved", x1+part*(x2-x1), y1+part*(y2-y1), held))
	}
	return errors.Join(err, t.mouse(ctx, "mouseReleased", x2, y2, nil), t.frame(ctx))
}

// click clicks a place, or taps it on a phone.
func (t *tab) click(ctx context.Context, s size, x, y float64) error {
	if s.phone {
		return errors.Join(
			t.call(ctx, "Input.dispatchTouchEvent", map[string]any{"type": "touchStart", "touchPoints": []map[string]float64{{"x": x, "y": y}}}),
			t.call(ctx, "Input.dispatchTouchEvent", map[string]any{"type": "touchEnd", "touchPoints": []any{}}), t.frame(ctx))
	}
	return errors.Join(t.mouse(ctx, "mouseMoved", x, y, nil), t.mouse(ctx, "mousePressed", x, y, nil), t.mouse(ctx, "mouseReleased", x, y, nil), t.frame(ctx))
}

// touch puts fingers on the screen, moves them, and lifts them. Each step has the place of each finger.
func (t *tab) touch(ctx context.Context, steps [][]float64, y float64) (err error) {
	kind := "touchStart"
	for _, step := range steps {
		points := []map[string]float64{}
		for i, x := range step {
			points = append(points, map[string]float64{"x": x, "y": y, "id": float64(i)})
		}
		err = errors.Join(err, t.call(ctx, "Input.dispatchTouchEvent", map[string]any{"type": kind, "touchPoints": points}))
		kind = "touchMove"
	}
	return errors.Join(err, t.call(ctx, "Input.dispatchTouchEvent", map[string]any{"type": "touchEnd", "touchPoints": []any{}}), t.frame(ctx))
}

// press presses a key of the keyboard.
func (t *tab) press(ctx context.Context, key string) error {
	down := map[string]any{"type": "keyDown", "key": key}
	if len(key) == 1 {
		down["text"] = key
	}
	return errors.Join(t.call(ctx, "Input.dispatchKeyEvent", down), t.call(ctx, "Input.dispatchKeyEvent", map[string]any{"type": "keyUp", "key": key}), t.frame(ctx))
}

// shot writes a picture of the window, or of the whole page.
func (t *tab) shot(ctx context.Context, path string, whole bool) error {
	var got struct {
		Data string `json:"data"`
	}
	if err := t.b.call(ctx, t.session, "Page.captureScreenshot", map[string]any{"format": "png", "captureBeyondViewport": whole}, &got); err != nil {
		return err
	}
	text, err := base64.StdEncoding.DecodeString(got.Data)
	if err != nil {
		return fmt.Errorf("take picture: %w", err)
	}
	return os.WriteFile(path, text, 0o644)
}
