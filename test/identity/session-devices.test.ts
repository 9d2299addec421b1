import { expect, test } from 'vitest'
import {
  CHROME,
  FIREFOX,
  readOwnHandle,
  readSessionList,
  signInWithAgent,
  startWithAda,
} from '../kit/identity/sessions.ts'

/** User agents of browsers, and the common name of each. */
const agents: [name: string, userAgent: string][] = [
  ['Firefox on Linux', FIREFOX],
  ['Firefox on Android', 'Mozilla/5.0 (Android 15; Mobile; rv:142.0) Gecko/142.0 Firefox/142.0'],
  [
    'Firefox on iOS',
    'Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) FxiOS/142.0 Mobile/15E148 Safari/605.1.15',
  ],
  ['Chrome on Windows', CHROME],
  [
    'Chrome on Android',
    'Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/139.0.0.0 Mobile Safari/537.36',
  ],
  [
    'Chrome on ChromeOS',
    'Mozilla/5.0 (X11; CrOS x86_64 14541.0.0) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/139.0.0.0 Safari/537.36',
  ],
  [
    'Edge on Windows',
    'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/139.0.0.0 Safari/537.36 Edg/139.0.0.0',
  ],
  [
    'Opera on macOS',
    'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/137.0.0.0 Safari/537.36 OPR/121.0.0.0',
  ],
  [
    'Samsung Internet on Android',
    'Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) SamsungBrowser/28.0 Chrome/130.0.0.0 Mobile Safari/537.36',
  ],
  [
    'Safari on macOS',
    'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Safari/605.1.15',
  ],
  [
    'Safari on iOS',
    'Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Mobile/15E148 Safari/604.1',
  ],
  ['null on null', 'curl/8.14.1'],
  ['null on null', ''],
  ['null on null', '<script>alert(1)</script>'],
  ['null on null', 'x'.repeat(5000)],
]

test('a browser is listed by its common name, whatever else its user agent says', async () => {
  await using svc = await startWithAda()

  for (const [name, userAgent] of agents) {
    const [current] = await readSessionList(await signInWithAgent(svc, userAgent))
    expect(`${current?.browser} on ${current?.system}`, userAgent).toBe(name)
  }
})

test('a browser is remembered only by the beginning of its user agent', async () => {
  await using svc = await startWithAda()
  const browser = await signInWithAgent(svc, 'x'.repeat(5000))

  const rows = await svc.rows('select * from sessions where hash = $1', [await readOwnHandle(browser)])

  expect(rows).toEqual([expect.objectContaining({ user_agent: 'x'.repeat(200) })])
  expect(JSON.stringify(rows)).not.toContain('127.0.0.1')
})
