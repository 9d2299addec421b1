import { expect, test } from 'vitest'
import { startApp } from '../kit/app.ts'
import { addAccount, openBrowser } from '../kit/browser.ts'
import { startPair } from '../kit/realtime/replicas.ts'
import { addSharer, callLinks, readCopy, uploadCopy } from '../kit/rooms/shared-links.ts'
import { shareResource } from '../kit/share-resource.ts'

const svc = shareResource(() => startApp({ SHARED_LINKS: 'everybody', OPEN_LINKS_GROUPS: 'staff' }))

/** Adds a person who is in these groups. */
async function addMember(...groups: string[]) {
  const person = await svc.user({ abilities: ['read', 'write'] })
  await svc.rows('update users set groups = $1 where id = $2', [groups, person.id])
  return person
}

async function signInAdministrator() {
  const { username, id } = await addAccount(svc, 'admin')
  await svc.host.admin.setRole({ user: { id }, role: 'admin' })
  const browser = openBrowser(svc.url)
  await browser.login(username)
  return { browser, id }
}

const listStored = async () => {
  const names: string[] = []
  for await (const { name } of svc.services.files.sharedCopies.list()) names.push(name)
  return names.length
}

test('a signed-in person reads what another one shares, and a guest does not', async () => {
  const owner = await addSharer(svc)
  const reader = await svc.user({ abilities: ['read'] })
  const id = await owner.share()

  expect(id).toMatch(/^[\w-]{22}$/)
  expect(await readCopy(svc, id, reader.token)).toMatchObject({ status: 200, text: 'sealed bytes' })
  expect(await readCopy(svc, id)).toMatchObject({ status: 404 })
  const blind = await svc.user({ abilities: ['ai'] })
  expect(await readCopy(svc, id, blind.token)).toMatchObject({ status: 404 })
  const page = await svc.send('GET', `/s/${id}`)
  expect(page.status).toBe(404)
  expect(await page.text()).toContain('&#34;isSignedIn&#34;:false')
})

test('a link for groups is read by their present members alone', async () => {
  const owner = await addSharer(svc, await addMember('course', 'other'))
  const member = await addMember('course')
  const id = await owner.share({ audience: 'groups', groups: ['course'] })

  expect((await readCopy(svc, id, member.token)).status).toBe(200)
  expect((await readCopy(svc, id, (await addMember('staff')).token)).status).toBe(404)
  expect((await readCopy(svc, id, owner.token)).status).toBe(200)
  expect((await readCopy(svc, id)).status).toBe(404)
  await svc.rows(`update users set groups = '{}' where id = $1`, [member.id])
  await expect.poll(async () => (await readCopy(svc, id, member.token)).status).toBe(404)
  expect(await owner.create({ audience: 'groups', groups: ['staff'] })).toMatchObject({ status: 422 })
  expect(await owner.create({ audience: 'groups' })).toMatchObject({ status: 400 })
  // A change of the groups alone is held to the same rule.
  expect(await owner.call('change', { id, groups: ['staff'] })).toMatchObject({ status: 422 })
  expect(await owner.call('change', { id, groups: ['other'] })).toMatchObject({ data: { groups: ['other'] } })
})

test('everybody reads an open link, which only members of the named groups make', async () => {
  const outsider = await addSharer(svc)
  expect(await outsider.create({ audience: 'everybody' })).toMatchObject({ status: 403, problem: 'not_permitted' })
  const owner = await addSharer(svc, await addMember('staff'))
  const id = await owner.share({ audience: 'everybody' })

  const { status, headers } = await readCopy(svc, id)
  expect(status).toBe(200)
  expect(headers.get('cache-control')).toBe('no-store')
  const page = await svc.send('GET', `/s/${id}`)
  expect(page.status).toBe(200)
  expect(page.headers.get('x-robots-tag')).toBe('noindex, nofollow')
  expect(page.headers.get('referrer-policy')).toBe('no-referrer')
  expect(page.headers.get('content-security-policy')).toBe(
    (await svc.send('GET', '/chat', { token: owner.token })).headers.get('content-security-policy'),
  )
  // The owner leaves the group, and with it the right to open links.
  await svc.rows(`update users set groups = '{}' where id = $1`, [owner.id])
  expect((await readCopy(svc, id)).status).toBe(404)
})

test('without the setting there are no open links, and off means none at all', async () => {
  await using closed = await startApp()
  const owner = await addSharer(closed)
  expect(await owner.create({ audience: 'everybody' })).toMatchObject({ status: 403 })
  const id = await owner.share()
  await closed.rows(`update shared_links set audience = 'everybody'`)
  expect((await readCopy(closed, id)).status).toBe(404)
  expect((await readCopy(closed, id, owner.token)).status).toBe(200)

  await using off = await startApp({ SHARED_LINKS: 'off' })
  const other = await addSharer(off)
  expect(await other.create()).toMatchObject({ status: 403 })
  expect((await other.call('rules')).data).toMatchObject({ mayShare: false, maySharePublicly: false })
})

test('only members of the named groups share', async () => {
  await using limited = await startApp({ SHARED_LINKS_GROUPS: 'staff' })
  const owner = await addSharer(limited)
  expect(await owner.create()).toMatchObject({ status: 403 })
  await limited.rows(`update users set groups = '{staff}' where id = $1`, [owner.id])
  await expect.poll(async () => (await owner.create()).status).toBe(200)

  // The owner leaves the group, and with it the right to share.
  const id = await owner.share()
  const reader = await limited.user({ abilities: ['read'] })
  expect((await readCopy(limited, id, reader.token)).status).toBe(200)
  await limited.rows(`update users set groups = '{}' where id = $1`, [owner.id])
  expect((await readCopy(limited, id, reader.token)).status).toBe(404)
  expect((await readCopy(limited, id, owner.token)).status).toBe(200)
})

test('links of others, and links that never were, are answered alike', async () => {
  const [owner, stranger] = [await addSharer(svc), await addSharer(svc)]
  const id = await owner.share()
  const refuse = async (id: string, token?: string) => [
    await callLinks(svc, 'change', { id, days: 9 }, token),
    await callLinks(svc, 'end', { id }, token),
    await uploadCopy(svc, id, 'other bytes', token),
  ]

  const unknown = 'A'.repeat(22)
  const refused = await refuse(id, stranger.token)
  expect(refused).toEqual(await refuse(unknown, stranger.token))
  expect(refused.map(({ status }) => status)).toEqual([404, 404, 404])
  expect((await refuse(id)).map(({ problem }) => problem)).toEqual(['signed_out', 'signed_out', 'signed_out'])
  expect((await stranger.call('create', { slug: owner.slug, sealedKey: 'aa|aa|aa', days: 1 })).status).toBe(404)
  expect((await stranger.call('list')).data).toEqual([])
  expect((await owner.call('list')).data).toMatchObject([{ id, slug: owner.slug, bytes: 12 }])
  expect((await owner.call('list', { slug: stranger.slug })).data).toEqual([])
  expect((await readCopy(svc, id, owner.token)).text).toBe('sealed bytes')
})

test('an update keeps the address, and the copy before it is deleted', async () => {
  const owner = await addSharer(svc)
  const before = await listStored()
  const id = await owner.share({}, 'the first copy')
  expect(await owner.upload(id, 'the second copy')).toMatchObject({ status: 200, data: { id } })

  expect((await readCopy(svc, id, owner.token)).text).toBe('the second copy')
  expect(await listStored()).toBe(before + 1)
})

test('a link without a copy, active owner or kept chat is not found', async () => {
  const owner = await addSharer(svc)
  const { data } = await owner.create()
  expect((await readCopy(svc, data.id, owner.token)).status).toBe(404)
  const id = await owner.share()
  const reader = await svc.user({ abilities: ['read'] })
  await svc.host.admin.setDisabled({ user: { id: owner.id }, disabled: true })
  expect((await readCopy(svc, id, reader.token)).status).toBe(404)
  await svc.host.admin.setDisabled({ user: { id: owner.id }, disabled: false })
  expect((await readCopy(svc, id, reader.token)).status).toBe(200)

  const before = await listStored()
  await svc.send('POST', '/trpc/conversations.discard', { token: owner.token, body: { slug: owner.slug } })
  expect((await readCopy(svc, id, reader.token)).status).toBe(404)
  await svc.rows(`update conversations set discarded_at = now() - interval '1 day' where slug = $1`, [owner.slug])
  await svc.host.conversations.deleteDiscarded()
  expect(await listStored()).toBe(before - 1)
})

test('after its end a link is not found, and its copy is deleted', async () => {
  const owner = await addSharer(svc)
  const [ended, renewed] = [await owner.share(), await owner.share()]
  const before = await listStored()
  await svc.rows(`update shared_links set ends_at = now() + interval '1 day' where address = $1`, [renewed])
  const { data } = await owner.call('change', { id: renewed, days: 30 })
  expect(Date.parse(data.endsAt)).toBeGreaterThan(Date.now() + 29 * 86_400_000)
  expect(await owner.call('change', { id: renewed, days: 91 })).toMatchObject({ status: 422 })
  await svc.rows(`update shared_links set ends_at = now() - interval '1 second' where address = $1`, [ended])

  expect((await readCopy(svc, ended, owner.token)).status).toBe(404)
  expect((await owner.call('list')).data).toMatchObject([
    { id: renewed, isEnded: false, endedBy: null },
    { id: ended, isEnded: true, endedBy: 'time' },
  ])
  // What has run out is not revived.
  expect(await owner.call('change', { id: ended, days: 30 })).toMatchObject({ status: 404 })
  expect(await svc.host.sharedLinks.deleteEnded()).toEqual({ copies: 1, links: 0 })
  expect(await listStored()).toBe(before - 1)
  expect((await readCopy(svc, renewed, owner.token)).status).toBe(200)

  // The owner sees for 30 days that it has ended, unless they remove it from the list.
  const [again] = [await owner.share()]
  await svc.rows(`update shared_links set ends_at = now() - interval '31 days' where address = $1`, [again])
  const list = async () => (await owner.call('list')).data as { id: string; isEnded: boolean; bytes: number | null }[]
  expect(await list()).toMatchObject([
    { id: renewed, isEnded: false, bytes: 12 },
    { id: again, isEnded: true },
    { id: ended, isEnded: true, endedBy: 'time', bytes: null, sharedAt: null },
  ])
  expect(await svc.host.sharedLinks.deleteEnded()).toEqual({ copies: 1, links: 1 })
  expect((await owner.call('end', { id: ended })).status).toBe(200)
  expect((await list()).map(({ id }) => id)).toEqual([renewed])
})

test('a person ends all of their links at once, and nobody else’s', async () => {
  const [owner, other] = [await addSharer(svc), await addSharer(svc)]
  const before = await listStored()
  const [first, second, foreign] = [await owner.share(), await owner.share(), await other.share()]
  expect(await callLinks(svc, 'endAll')).toMatchObject({ problem: 'signed_out' })
  const reader = await svc.user({ abilities: ['read'] })
  expect((await callLinks(svc, 'endAll', {}, reader.token)).status).toBe(403)

  expect((await owner.call('endAll')).data).toEqual({ ended: 2 })
  for (const id of [first, second]) expect((await readCopy(svc, id, owner.token)).status).toBe(404)
  expect((await readCopy(svc, foreign, owner.token)).status).toBe(200)
  expect(await listStored()).toBe(before + 1)
  expect((await owner.call('list')).data).toEqual([])
})

test('sizes and numbers are bounded, and an upload that is refused leaves no file', async () => {
  await using small = await startApp({
    SHARED_LINK_MAX_SIZE: '2000',
    SHARED_LINKS_QUOTA: '3000',
    SHARED_LINKS_PER_PERSON: '2',
  })
  const owner = await addSharer(small)
  const [first, second] = [(await owner.create()).data.id, (await owner.create()).data.id]
  expect(await owner.create()).toMatchObject({ status: 422, problem: 'quota_reached' })
  expect(await owner.upload(first, 'x'.repeat(2001))).toMatchObject({ status: 413 })
  expect(await owner.upload(first, '')).toMatchObject({ status: 422 })
  expect(await owner.upload(first, 'x'.repeat(2000))).toMatchObject({ status: 200 })
  expect(await owner.upload(second, 'x'.repeat(1001))).toMatchObject({ status: 422, problem: 'quota_reached' })
  // A copy that replaces another one needs only the room that it takes more.
  expect(await owner.upload(first, 'y'.repeat(2000))).toMatchObject({ status: 200 })
  expect(await owner.create({ days: 0 })).toMatchObject({ status: 400 })

  // Links that have ended are not counted, and their copies are until they are deleted.
  await small.rows('update shared_links set ends_at = now() where address = $1', [first])
  const third = await owner.create()
  expect(third.status).toBe(200)
  expect(await owner.upload(third.data.id, 'z'.repeat(1001))).toMatchObject({ status: 422 })
  await small.host.sharedLinks.deleteEnded()
  expect(await owner.upload(third.data.id, 'z'.repeat(1001))).toMatchObject({ status: 200 })

  const names: string[] = []
  for await (const { name } of small.services.files.sharedCopies.list()) names.push(name)
  expect(names).toHaveLength(1)
})

test('a thousand guesses are all answered with 404, and then with 429', async () => {
  await using guarded = await startApp()
  const owner = await addSharer(guarded)
  const id = await owner.share()
  const guess = async (guessed: string) => {
    const response = await guarded.send('GET', `/s/${guessed}`)
    return [response.status, (await response.text()).replaceAll(guessed, '')]
  }
  // Somebody else's link, one that never was, and what cannot be one.
  const [real, ...others] = [await guess(id), await guess('B'.repeat(22)), await guess('short')]
  expect(others).toEqual([real, real])
  expect(real?.[0]).toBe(404)

  const answers: Awaited<ReturnType<typeof guess>>[] = []
  for (let from = 0; from < 1000; from += 50)
    answers.push(
      ...(await Promise.all(Array.from({ length: 50 }, (_, at) => guess(`guess${from + at}`.padEnd(22, 'x'))))),
    )
  const missed = answers.filter(([status]) => status === 404)
  expect(missed.length).toBeLessThan(60)
  for (const answer of missed) expect(answer).toEqual(real)
  expect(new Set(answers.map(([status]) => status))).toEqual(new Set([404, 429]))
  // Whoever has a link reads it all the same, and others of the network can sign in to do so.
  expect((await readCopy(guarded, id, owner.token)).status).toBe(200)
  const refused = await guarded.send('GET', `/s/${id}`)
  expect(refused.status).toBe(429)
  expect(refused.headers.get('retry-after')).toMatch(/^\d+$/)
  expect(refused.headers.get('x-robots-tag')).toBe('noindex, nofollow')
  expect(await refused.text()).toContain('&#34;isSignedIn&#34;:false')

  // A person who guesses gets the page as well, which says so.
  const person = await guarded.user()
  const looks = Array.from({ length: 61 }, (_, at) =>
    guarded.send('GET', `/s/${`mine${at}`.padEnd(22, 'x')}`, { token: person.token }),
  )
  const limited = (await Promise.all(looks)).find(({ status }) => status === 429)
  expect(limited?.headers.get('content-type')).toMatch(/^text\/html/)
  expect(await limited?.text()).toMatch(/isLimited&#34;:true,&#34;isSignedIn&#34;:true/)
})

test('a link that is ended on one replica is gone on the other', async () => {
  await using pair = await startPair()
  const owner = await addSharer(pair.svc)
  const id = await owner.share()
  for (const replica of [pair.svc, pair.other]) {
    const { url } = replica
    const { status } = await fetch(`${url}/s/${id}/copy`, { headers: { authorization: `Bearer ${owner.token}` } })
    if (replica === pair.svc) expect(status).toBe(200)
  }
  await owner.call('end', { id })

  const read = async (url: string) =>
    (await fetch(`${url}/s/${id}/copy`, { headers: { authorization: `Bearer ${owner.token}` } })).status
  expect(await Promise.all(pair.urls.map(read))).toEqual([404, 404])
  const load = async (url: string) =>
    (await fetch(`${url}/s/${id}`, { headers: { authorization: `Bearer ${owner.token}` } })).status
  expect(await Promise.all(pair.urls.map(load))).toEqual([404, 404])
})

test('administrators list links without opening them, and end them, which is audited', async () => {
  const owner = await addSharer(svc)
  const id = await owner.share()
  const { browser, ...admin } = await signInAdministrator()
  const input = encodeURIComponent(JSON.stringify({ username: owner.username }))
  const { body } = await browser.send('GET', `/trpc/sharedLinks.overview?input=${input}`)
  const listed = (body as { result: { data: { links: object[]; total: number } } }).result.data
  expect(listed.total).toBe(1)
  expect(Object.keys(listed.links[0] ?? {}).sort()).toEqual(
    ['audience', 'bytes', 'createdAt', 'endsAt', 'id', 'userId', 'username'].sort(),
  )
  expect((await callLinks(svc, 'overview', {}, owner.token)).status).toBe(403)
  expect((await callLinks(svc, 'endAny', { id }, owner.token)).status).toBe(403)

  const before = await listStored()
  expect((await browser.send('POST', '/trpc/sharedLinks.endAny', { body: { id } })).status).toBe(200)
  expect(await listStored()).toBe(before - 1)
  expect((await browser.send('POST', '/trpc/sharedLinks.endAny', { body: { id } })).status).toBe(404)
  expect((await owner.call('list')).data).toMatchObject([{ id, isEnded: true, endedBy: 'administrator', bytes: null }])
  // Whoever looks for links is told the same as of one that never was.
  const stranger = await svc.user({ abilities: ['read'] })
  const [gone, never] = [await readCopy(svc, id, stranger.token), await readCopy(svc, 'x'.repeat(22), stranger.token)]
  const withoutId = (text: string) => text.replaceAll(/"requestId":"[^"]+"/g, '')
  expect([gone.status, withoutId(gone.text)]).toEqual([404, withoutId(never.text)])
  expect((await readCopy(svc, id, owner.token)).status).toBe(404)
  // An earlier version of the service ends a link without saying how.
  await svc.rows('update shared_links set ended_by = null where address = $1', [id])
  expect((await owner.call('list')).data).toMatchObject([{ id, isEnded: true, endedBy: null }])
  const rows = await svc.rows<{ act: string; actor: string; subject: string }>(
    `select act, actor, subject from audit_entries where act = 'sharedLinks.endAny' and subject = $1`,
    [`user:${owner.id}`],
  )
  expect(rows).toEqual([{ act: 'sharedLinks.endAny', actor: `user:${admin.id}`, subject: `user:${owner.id}` }])
})

test('the erasure of a person deletes their links and copies', async () => {
  const owner = await addSharer(svc)
  const before = await listStored()
  await owner.share()
  const { report } = await svc.host.admin.removeUser({ user: { id: owner.id } })

  expect(report).toMatchObject({ shared_links: { deleted: 1, kept: 0 } })
  expect(await listStored()).toBe(before)
})
