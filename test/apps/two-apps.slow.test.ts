import type { Page } from 'playwright-core'
import { expect, test, vi } from 'vitest'
import { answers, neverEnds, startProvider, writeConfig } from '../kit/ai/provider.ts'
import { startApp, type TestApp } from '../kit/app.ts'
import { APPS_ON, EXT_APPS, establishConnection } from '../kit/apps/ext-app.ts'
import { startSampleApp } from '../kit/apps/sample-app.ts'
import { signIn } from '../kit/browser.ts'
import { describeWith } from '../kit/parts/with-parts.ts'
import { openSettings, showSettings, waitForAddress } from '../kit/web/pages.ts'

const patient = { timeout: 60_000 }

type SampleApp = Awaited<ReturnType<typeof startSampleApp>>

/** Opens the app in the browser and agrees to the link; returns the app's user and the final page's text. */
async function link(page: Page, app: SampleApp) {
  await page.goto(app.url)
  await waitForAddress(page, /\/connect\//)
  await page.locator('#connect [type=submit]').click()
  await waitForAddress(page, `${app.url}/back?svc-connect-status=success`)
  const cookies = await page.context().cookies(app.url)
  return { user: cookies.find(({ name }) => name === app.cookie)?.value ?? '', read: await page.textContent('body') }
}

/** Starts to read an endless answer as a user of the app; `done` resolves when it ends. */
function readEndless(app: SampleApp, user: string) {
  const read = { text: '', ended: false }
  const done = (async () => {
    const answer = await fetch(`${app.url}/?question=endless`, { headers: { cookie: `${app.cookie}=${user}` } })
    for await (const part of answer.body ?? []) read.text += Buffer.from(part).toString()
    read.ended = true
  })()
  return { read, done }
}

const readRecords = async (svc: TestApp, userId: number) => {
  await svc.services.ai.usageLedger.flush()
  return svc.rows<{ outcome: string; output: number }>(
    'select outcome, output_tokens as output from usage_records where user_id = $1 order by id desc',
    [userId],
  )
}

describeWith('chromium')('two apps and two people', () => {
  test('each app asks models only for its people, and streams end independently', async () => {
    const answersOrNeverEnds: typeof neverEnds = (request, response) =>
      (JSON.stringify(request.body).includes('endless') ? neverEnds : answers('Good day to you'))(request, response)
    await using upstream = await startProvider(answersOrNeverEnds)
    await using config = await writeConfig(upstream.url)
    await using svc = await startApp({ ...APPS_ON, AI_CONFIG: config.file })
    const { token: adminToken } = await svc.user({ role: 'admin', abilities: ['write', 'admin'] })
    await using a = await startSampleApp({ url: svc.url, adminToken }, 'Learning platform')
    await using b = await startSampleApp({ url: svc.url, adminToken }, 'Library portal')
    await using ada = await openSettings(svc, 'ada')
    await using bob = await openSettings(svc, 'bob')

    const [adaAtA, adaAtB, bobAtB] = [await link(ada.page, a), await link(ada.page, b), await link(bob.page, b)]
    for (const { read } of [adaAtA, adaAtB, bobAtB]) expect(read).toContain('Good')

    // App B cannot use the users, the requests, the secrets or the row of app A.
    expect(await b.connection(adaAtA.user)).toMatchObject({ connectionType: 'external_app' })
    expect(await b.tokenFor(adaAtA.user)).toBeUndefined()
    const { extAppSecrets } = (await a.connection(adaAtA.user)) as unknown as { extAppSecrets: { apiToken: string } }
    expect(() => b.open(extAppSecrets.apiToken)).toThrow()
    for (const [method, path] of [
      ['GET', `${EXT_APPS}/${a.id}`],
      ['DELETE', `${EXT_APPS}/${a.id}`],
      ['DELETE', `${EXT_APPS}/${a.id}/actions/link`],
      ['POST', `${EXT_APPS}/${a.id}/actions/rotate-credential`],
      ['DELETE', `/api/svc/v1/connections/${adaAtA.user}`],
    ] as const)
      for (const token of [b.credential, await b.tokenFor(adaAtB.user)])
        expect([method, path, (await svc.send(method, path, { token })).status]).toEqual([
          method,
          path,
          expect.toSatisfy((status: number) => status === 403 || status === 404),
        ])
    const { browser: eve } = await signIn(svc, 'eve')
    const stolen = String((await a.connection('nobody yet'))['extAppConnectRequest'])
    const forB = await establishConnection(eve, stolen, {})
    expect(forB.body['data']).toMatchObject([{ id: a.id }])
    expect(await b.tokenFor('nobody yet')).toBeUndefined()

    // The person ends the link with A while A reads an answer for them; the answer for B continues.
    const [atA, atB] = [readEndless(a, adaAtA.user), readEndless(b, adaAtB.user)]
    await vi.waitFor(
      () => expect([atA, atB].map(({ read }) => read.text.includes('more'))).toEqual([true, true]),
      patient,
    )
    await showSettings(ada.page, 'apps')
    await ada.page.getByRole('button', { name: 'End link: Learning platform' }).click()
    await ada.page.getByRole('alertdialog').getByRole('button', { name: 'End link' }).click()
    await atA.done
    expect(atA.read.ended).toBe(true)
    const length = atB.read.text.length
    await vi.waitFor(() => expect(atB.read.text.length).toBeGreaterThan(length), patient)
    expect(atB.read.ended).toBe(false)
    await vi.waitFor(async () => {
      const [record] = await readRecords(svc, ada.id)
      expect(record).toMatchObject({ outcome: 'aborted' })
      expect(record?.output).toBeGreaterThan(0)
    }, patient)
    expect(await a.connection(adaAtA.user)).toMatchObject({ connectionType: 'external_app' })

    // App B ends its own link itself.
    await svc.send('DELETE', `/api/svc/v1/connections/${adaAtB.user}`, { token: b.credential })
    await atB.done
    expect(await b.tokenFor(bobAtB.user), 'that of somebody else stays').toBeDefined()
  })
})
