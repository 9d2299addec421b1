import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { findFreePort } from '../free-port.ts'

export interface OidcProvider extends AsyncDisposable {
  issuer: string
  port: number
  kill(): Promise<void>
}

/** A real OpenID provider in a process of its own, whose clients live at `svcUrl`. */
export async function startOidcProvider(svcUrl: string, settings: Record<string, string> = {}): Promise<OidcProvider> {
  const port = Number(settings['PORT'] ?? (await findFreePort()))
  const env = { ...process.env, PORT: `${port}`, SVC_URL: svcUrl, ...settings }
  const provider: ChildProcess = fork(new URL('./oidc-provider.ts', import.meta.url), {
    env,
    stdio: 'ignore',
    execArgv: [],
  })
  const exited = once(provider, 'exit')
  const early = exited.then(() => {
    throw new Error('The OpenID provider does not start.')
  })
  await Promise.race([once(provider, 'message'), early])
  early.catch(() => {})
  const kill = async () => {
    provider.kill('SIGKILL')
    await exited
  }
  return { issuer: `http://127.0.0.1:${port}`, port, kill, [Symbol.asyncDispose]: kill }
}

/** The part of a browser that a sign-in needs: cookies, redirects, forms. */
export function openOidcBrowser() {
  const cookies = new Map<string, string>()

  async function load(url: string, form?: Record<string, string>) {
    const answer = await fetch(url, {
      redirect: 'manual',
      headers: { cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; ') },
      ...(form && { method: 'POST', body: new URLSearchParams(form) }),
    })
    for (const line of answer.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
      if (value) cookies.set(name, value)
      else cookies.delete(name)
    }
    return answer
  }

  /** Follows redirects to a page, or to the first address that starts with `home`. */
  async function go(url: string, home: string, form?: Record<string, string>): Promise<{ url: string; page: string }> {
    if (url.startsWith(home)) return { url, page: '' }
    const answer = await load(url, form)
    const next = answer.headers.get('location')
    return next ? go(new URL(next, url).href, home) : { url, page: await answer.text() }
  }

  return {
    go,
    /** Signs in at a provider and consents, as somebody; returns where that ends. */
    async signIn(url: string, home: string, login: string): Promise<string> {
      let place = await go(url, home)
      while (!place.url.startsWith(home)) {
        const prompt = readField(place.page, 'prompt')
        place = await go(readAction(place), home, { prompt, login, password: 'any' })
      }
      return place.url
    },
    /** Aborts the sign-in at the first page of the provider. */
    async turnRound(url: string, home: string): Promise<string> {
      const place = await go(url, home)
      return (await go(`${place.url}/abort`, home)).url
    },
    /** Confirms to sign out. */
    async signOut(url: string, home: string): Promise<string> {
      const place = await go(url, home)
      return (await go(readAction(place), home, { xsrf: readField(place.page, 'xsrf'), logout: 'yes' })).url
    },
  }
}

const readAction = ({ page, url }: { page: string; url: string }) => {
  const [, action] = /<form[^>]* action="([^"]+)"/.exec(page) ?? []
  if (!action) throw new Error(`No form at ${url}: ${page.slice(0, 500)}`)
  return new URL(action, url).href
}

const readField = (page: string, name: string) => new RegExp(`name="${name}" value="([^"]*)"`).exec(page)?.[1] ?? ''
