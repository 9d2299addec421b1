import { expect, test } from 'vitest'
import { startApp } from '../kit/app.ts'
import { openBrowser, signIn } from '../kit/browser.ts'

const paths = [
  '/',
  '/login',
  '/register',
  '/handshake',
  '/chat',
  '/connect/x',
  '/oauth/authorize?client_id=x',
  '/invitation',
  '/logout',
]

test('each page is shown to its audience, and others are redirected', async () => {
  await using svc = await startApp()
  const { browser: registering } = await signIn(svc, 'new', { known: false })
  const { browser: user } = await signIn(svc, 'ada')
  const visits = async (browser: ReturnType<typeof openBrowser>) => {
    const answers = await Promise.all(
      paths.map((path) => browser.send('GET', path, { headers: { 'sec-fetch-site': 'none' } })),
    )
    return answers.map(({ status, headers }) => headers.get('location') ?? status)
  }

  // Afterwards they return to the requested page or to that of an app or program; without such a request it is refused.
  const to = (path: string, next = '/connect/x') => `${path}?redirectUri=${encodeURIComponent(next)}`

  expect(await visits(openBrowser(svc.url))).toEqual([
    '/login',
    200,
    '/login',
    '/login',
    to('/login', '/chat'),
    to('/login'),
    to('/login', '/oauth/authorize?client_id=x'),
    200,
    '/login',
  ])
  expect(await visits(registering)).toEqual([
    '/register',
    '/register',
    200,
    200,
    to('/register', '/chat'),
    to('/register'),
    to('/register', '/oauth/authorize?client_id=x'),
    200,
    200,
  ])
  expect(await visits(user)).toEqual(['/chat', '/chat', '/chat', 200, 200, 403, 400, 200, 200])
})
