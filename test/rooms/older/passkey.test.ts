import { expect, inject, test } from 'vitest'
import { startApp } from '../../kit/app.ts'
import { openBrowser, signIn } from '../../kit/browser.ts'
import { redisDatabaseUrl, watchRedis } from '../../kit/parts/redis.ts'

const canary = 'CANARY-passkey-1'
const form = `--x\r\ncontent-disposition: form-data; name="passkey"\r\n\r\n${canary}\r\n--x--\r\n`
const bodies: [type: string, body: string][] = [
  ['application/json', JSON.stringify({ passkey: canary })],
  ['application/json', `{"passkey": "${canary}`],
  ['application/x-www-form-urlencoded', `passkey=${canary}`],
  ['multipart/form-data; boundary=x', form],
  ['text/plain', canary],
]

test('a passkey that an existing front end sends is neither logged nor stored', async () => {
  const redisUrl = inject('redisUrl') ? redisDatabaseUrl(2) : undefined
  using redis = redisUrl === undefined ? undefined : await watchRedis(redisUrl)
  await using svc = await startApp({ LOG_LEVEL: 'trace', ...(redisUrl && { REDIS_URL: redisUrl }) })
  const { browser } = await signIn(svc)

  for (const by of [browser, openBrowser(svc.url)])
    for (const [type, body] of bodies) {
      const answer = await by.send('POST', '/req/profile/validatePasskey', { body, headers: { 'content-type': type } })
      expect([answer.status, answer.body]).toEqual([200, { success: true, message: expect.any(String) }])
      expect(answer.headers.get('link')).toContain('</handshake>')
    }

  expect(svc.log.join('')).toContain('/req/profile/validatePasskey')
  expect(svc.log.join('')).not.toContain(canary)
  const tables = await svc.rows<{ name: string }>(`select tablename as name from pg_tables where schemaname = 'public'`)
  for (const { name } of tables)
    expect(await svc.rows(`select from "${name}" t where t::text like $1`, [`%${canary}%`])).toEqual([])
  expect(redis?.commands ?? ['none']).not.toEqual([])
  expect(redis?.commands.join() ?? '').not.toContain(canary)
})
