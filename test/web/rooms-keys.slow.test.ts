import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startApp, type TestApp } from '../kit/app.ts'
import { addAccount } from '../kit/browser.ts'
import { makePublicKey } from '../kit/identity/people.ts'
import { describeWith } from '../kit/parts/with-parts.ts'
import { expectAccessible } from '../kit/web/chromium.ts'
import { PASSKEY, waitForAddress } from '../kit/web/pages.ts'
import { makeRoom, openRooms, type RoomsPage } from '../kit/web/rooms.ts'

describeWith('chromium')('public keys that somebody exchanges in the database', () => {
  const resources = new AsyncDisposableStack()
  let svc: TestApp
  let ada: RoomsPage
  let ben: RoomsPage
  let cyd: RoomsPage

  beforeAll(async () => {
    svc = resources.use(await startApp())
    ada = resources.use(await openRooms(svc, 'adaa'))
    ben = resources.use(await openRooms(svc, 'benn'))
    cyd = resources.use(await openRooms(svc, 'cydd'))
    await addAccount(svc, 'ghost', { known: true })
  })
  afterAll(() => resources.disposeAsync())

  const panelOf = ({ page }: RoomsPage) => page.getByRole('complementary', { name: 'Members' })

  const readHolders = (room: string, epoch: number) =>
    svc
      .rows<{ username: string }>(
        `select u.username from room_keys k join users u on u.id = k.user_id join rooms r on r.id = k.room_id
          where r.name = $1 and k.epoch = $2 order by u.username`,
        [room, epoch],
      )
      .then((rows) => rows.map(({ username }) => username))

  const readState = async (room: string) => {
    const [found] = await svc.rows<{ epoch: number; waits: boolean }>(
      'select key_epoch as epoch, rekey_required_since is not null as waits from rooms where name = $1',
      [room],
    )
    return found
  }

  /** Waits until the pages have proved to each other that they have the key of the room. */
  const waitForProofs = (room: string, count: number) =>
    expect
      .poll(() =>
        svc.rows(
          `select from room_members m join rooms r on r.id = m.room_id
            where r.name = $1 and m.state = 'member' and m.key_proof is not null`,
          [room],
        ),
      )
      .toHaveLength(count)

  const removeCyd = async () => {
    await ada.showPanel('Members')
    await panelOf(ada).getByRole('button', { name: 'Remove The cydd' }).click()
    await ada.page.getByRole('dialog').getByRole('button', { name: 'Remove', exact: true }).click()
    await panelOf(ada).getByRole('button', { name: 'Close' }).click()
  }

  /** Exchanges the public key of Ben; afterwards he has his own again, and nobody has pinned a key. */
  const exchangeKey = async () => {
    const [own] = await svc.rows<{ key: string }>("select public_key as key from users where username = 'benn'")
    const set = (key: string | undefined) => svc.rows("update users set public_key = $1 where username = 'benn'", [key])
    await set(makePublicKey('an attacker'))
    const restore = async () => {
      await set(own?.key)
      await svc.rows("delete from user_keychain_values where key like 'pin:%'")
    }
    return { [Symbol.asyncDispose]: restore }
  }

  test('nothing is wrapped for an exchanged key, until the person accepts it', async () => {
    const room = await makeRoom('Vault', [ada, ben, cyd])
    await waitForProofs(room, 3)
    await ben.page.goto('about:blank')
    await using _exchange = await exchangeKey()
    await removeCyd()

    const notice = ada.page.getByRole('alert').filter({ hasText: 'this key is not the same as before' })
    await notice.getByText('The benn').waitFor()
    await expect.poll(() => readState(room)).toEqual({ epoch: 1, waits: true })
    expect(await readHolders(room, 1)).toEqual(['adaa'])
    await ada.say('Not for the attacker')
    await ada.findMessage('Not for the attacker').waitFor()
    await expectAccessible(ada.page)

    await notice.getByRole('button', { name: 'Compare keys' }).click()
    await panelOf(ada).getByText('You have not accepted this key.').waitFor()
    await panelOf(ada).getByRole('button', { name: 'Key of The benn' }).click()
    const dialog = ada.page.getByRole('dialog')
    await dialog.getByText(/^([0-9a-f]{4} ){15}[0-9a-f]{4}$/).waitFor()
    await dialog.getByRole('img', { name: 'The fingerprint of The benn as a QR code' }).waitFor()
    await expectAccessible(ada.page)
    await dialog.getByRole('button', { name: 'Accept this key' }).click()
    await notice.waitFor({ state: 'detached' })
    await expect.poll(() => readState(room)).toEqual({ epoch: 2, waits: false })
    expect(await readHolders(room, 2)).toEqual(['adaa', 'benn'])
  })

  test('a member whom nobody invited gets no key, and is named', async () => {
    const room = await makeRoom('Vault', [ada, ben, cyd])
    await waitForProofs(room, 3)
    await svc.rows(
      `insert into room_members (room_id, user_id, role, state)
        select r.id, u.id, 'editor', 'member' from rooms r, users u where r.name = $1 and u.username = 'ghost'`,
      [room],
    )
    await removeCyd()

    for (const { page } of [ada, ben])
      await page.getByRole('alert').filter({ hasText: 'no member has confirmed this key' }).getByText('ghost').waitFor()
    await expect.poll(() => readHolders(room, 1)).toEqual(['adaa', 'benn'])
    expect((await readState(room))?.epoch).toBe(1)
  })

  test('nobody is invited by an exchanged key without being asked', async () => {
    const room = await makeRoom('Vault', [ada, ben])
    await waitForProofs(room, 2)
    await makeRoom('Vault', [ada])
    await using _exchange = await exchangeKey()
    await ada.showPanel('Members')
    await panelOf(ada).getByRole('button', { name: 'Invite', exact: true }).click()
    const dialog = ada.page.getByRole('dialog')
    await dialog.getByLabel('Search people').fill('benn')
    await dialog.getByRole('button', { name: 'Invite The benn' }).click()

    await dialog.getByText("This person's key is not the same as before.").waitFor()
    await expectAccessible(ada.page)
    await dialog.getByRole('button', { name: 'Accept the new key of The benn' }).click()
    await dialog.getByText('Invited', { exact: true }).waitFor()
  })

  test('a page whose keychain another browser has wrapped anew asks for the passphrase', async () => {
    await unlockIfLocked(ada.page)
    const room = await makeRoom('Vault', [ada, ben, cyd])
    await waitForProofs(room, 3)
    const ofAda = "where user_id = (select id from users where username = 'adaa')"
    const wrap = (other: string) =>
      svc.rows(`update user_keychain_values set value = ${other} || substr(value, 29) ${ofAda}`)
    const [own] = await svc.rows<{ value: string }>(
      `select left(value, 28) as value from user_keychain_values ${ofAda}`,
    )
    await wrap(`'${own?.value.slice(0, 20)}AAAAAAAA'`)
    try {
      await removeCyd()
      await waitForAddress(ada.page, /\/handshake\?redirectUri=/)
    } finally {
      await wrap(`'${own?.value}'`)
    }

    await unlock(ada.page)
    await expect.poll(() => readState(room)).toEqual({ epoch: 1, waits: false })
    expect(await readHolders(room, 1)).toEqual(['adaa', 'benn'])
  })
})

async function unlock(page: Page): Promise<void> {
  await page.fill('[name=passkey]', PASSKEY)
  await page.click('#unlock [type=submit]')
}

/** Unlocks the keys, if an earlier try of the test has left them locked. */
async function unlockIfLocked(page: Page): Promise<void> {
  await page.goto('/rooms')
  const rooms = page.getByRole('navigation', { name: 'Rooms' })
  await rooms.or(page.locator('#unlock')).waitFor()
  if (await rooms.isVisible()) return
  await unlock(page)
  await rooms.waitFor()
}
