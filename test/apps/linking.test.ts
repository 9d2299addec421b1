import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startApp, type TestApp } from '../kit/app.ts'
import { APPS_ON, addApp, agree, EXT_APPS } from '../kit/apps/ext-app.ts'
import { signIn } from '../kit/browser.ts'

let svc: TestApp
beforeAll(async () => {
  svc = await startApp(APPS_ON)
})
afterAll(() => svc[Symbol.asyncDispose]())

describe('an external app and a person', () => {
  test('an unknown user is linked by a request that the person agrees to, and the app then opens what was sealed for it', async () => {
    const [app, ada] = [await addApp(svc), await signIn(svc, 'ada')]
    expect(await app.connection('learner/42 ü')).toMatchObject({ status: 200, connectionType: 'external_app' })
    const request = await app.connectRequest('learner/42 ü')

    const shown = await ada.browser.send('GET', `${EXT_APPS}/${request}`)
    expect(shown.body['data']).toMatchObject({ id: app.id, attributes: { name: app.name, needsKeys: true } })
    const agreed = await agree(ada.browser, request)
    expect(agreed).toMatchObject({ status: 200, body: { data: [{ id: app.id }] } })

    const linked = await app.connection('learner/42 ü')
    expect(linked).toMatchObject({ connectionType: 'external_app_authenticated', userinfo: { username: 'ada' } })
    const { passkey, apiToken, privateKey } = await app.secrets('learner/42 ü')
    expect(passkey).toBe('c2VhbGVk')
    expect(Buffer.from(String(privateKey).split('|')[0] ?? '', 'base64').toString()).toMatch(
      /^-----BEGIN PRIVATE KEY-----/,
    )
    const me = await svc.send('GET', '/api/svc/v1/users/me', { token: apiToken })
    expect(await me.json()).toMatchObject({ data: { attributes: { username: 'ada' } } })
  })
})
