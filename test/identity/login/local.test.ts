import { execFile } from 'node:child_process'
import { chmod, mkdtemp, readdir, readFile, rm, stat, symlink, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { readEnv } from '../../../server/config/env.ts'
import { putAccount, readAccounts, removeAccount, resolveAccountsPath } from '../../../server/login/accounts.ts'
import { openLoginSources } from '../../../server/login/index.ts'
import { recordLog } from '../../kit/log.ts'

const expectedLogin = (person: object) => ({
  ...person,
  subject: expect.stringMatching(/^local:[\da-f-]{36}$/),
  formerSubject: expect.stringMatching(/^local:username /),
})
const ann = { username: 'ann', email: 'ann@example.org', name: 'Ann Müller' }
const bea = { username: 'bea', email: 'bea@example.org', name: 'Bea' }
const salts = ['USERDATA_ENCRYPTION_SALT', 'INVITATION_SALT', 'AI_CRYPTO_SALT', 'PASSKEY_SALT', 'BACKUP_SALT']
const production = {
  ...Object.fromEntries(salts.map((name) => [name, `the ${name} of this test, long enough`])),
  NODE_ENV: 'production',
  DATABASE_URL: 'postgres://db/svc',
  APP_KEY: 'cm9vbSB0ZW1wZXJhdHVyZSBpcyBmaW5lIGZvciBtZQ',
  AI_CONFIG: 'ai.yaml',
}

async function inFolder() {
  const folder = await mkdtemp(join(tmpdir(), 'svc-accounts-'))
  const file = join(folder, 'accounts.json')
  return {
    folder,
    file,
    log: recordLog(),
    async open(settings: Record<string, string> = {}) {
      const env = readEnv({ DATA_DIR: folder, ...settings })
      const { password } = await openLoginSources(env, this.log)
      return password!
    },
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  }
}

describe('local accounts', () => {
  test('local accounts are the default in development, with argon2id hashes in the data folder', async () => {
    await using t = await inFolder()
    await putAccount(t.file, ann, 'correct horse')
    const source = await t.open()

    expect(resolveAccountsPath(readEnv({ DATA_DIR: t.folder }))).toBe(t.file)
    expect(await source.verify('ann', 'correct horse')).toEqual(expectedLogin(ann))
    expect(await source.verify(' ANN ', 'correct horse')).toEqual(expectedLogin(ann))
    expect((await readAccounts(t.file))[0]!.hash).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/)
    expect(await readFile(t.file, 'utf8')).not.toContain('correct horse')
  })

  test('local accounts refuse wrong and empty passwords and unknown people alike', async () => {
    await using t = await inFolder()
    await putAccount(t.file, ann, 'correct horse')
    const source = await t.open()

    const tries = ['Correct horse', 'correct horse ', '', 'x'.repeat(2000)].map(
      (password) => ['ann', password] as const,
    )
    const others = ['bea', '', '__proto__', 'constructor', 'ann\0', 'a'.repeat(5000)].map(
      (name) => [name, 'x'] as const,
    )
    for (const [name, password] of [...tries, ...others])
      expect(await source.verify(name, password), name).toBeUndefined()
    expect(t.log.lines).toEqual([])
  })

  test('an unknown account keeps as many password checks busy as a known one', async () => {
    await using t = await inFolder()
    await putAccount(t.file, ann, 'correct horse')
    const source = await t.open()
    await source.verify('nobody', 'wrong')
    /** Counts the refusals of concurrent logins, as few passwords are checked at a time and few may wait. */
    const countRefused = async (account: string) => {
      const checks = await Promise.allSettled(Array.from({ length: 60 }, () => source.verify(account, 'wrong')))
      return checks.filter(({ status }) => status === 'rejected').length
    }

    const known = await countRefused('ann')

    expect(known).toBeGreaterThan(0)
    expect(await countRefused('nobody')).toBe(known)
  })

  test('local accounts take a password in whatever way a keyboard composes its letters', async () => {
    await using t = await inFolder()
    await putAccount(t.file, ann, 'Grüße'.normalize('NFD'))

    expect(await (await t.open()).verify('ann', 'Grüße'.normalize('NFC'))).toEqual(expectedLogin(ann))
  })

  test('local accounts are read again after any change, also with equal size and time', async () => {
    await using t = await inFolder()
    const source = await t.open()
    expect(await source.verify('ann', 'one')).toBeUndefined()

    await putAccount(t.file, ann, 'one')
    const { atime, mtime } = await stat(t.file)
    expect(await source.verify('ann', 'one')).toEqual(expectedLogin(ann))
    await putAccount(t.file, ann, 'two')
    await utimes(t.file, atime, mtime)

    expect(await source.verify('ann', 'one')).toBeUndefined()
    expect(await source.verify('ann', 'two')).toEqual(expectedLogin(ann))
    await removeAccount(t.file, 'ann')
    expect(await source.verify('ann', 'two')).toBeUndefined()
  })

  test('local accounts may be written in YAML', async () => {
    await using t = await inFolder()
    const file = join(t.folder, 'people.yaml')
    await putAccount(t.file, ann, 'one')
    const { hash } = (await readAccounts(t.file))[0]!
    await writeFile(file, `# people\n- {username: ANN, email: Ann@Example.org, name: Ann Müller, hash: "${hash}"}\n`)
    await putAccount(file, bea, 'two')
    const source = await t.open({ ACCOUNTS_FILE: file })

    expect(await source.verify('ann', 'one')).toEqual(expectedLogin(ann))
    expect(await source.verify('bea', 'two')).toEqual(expectedLogin(bea))
    expect(await readFile(file, 'utf8')).toContain('username: ann')
  })

  test('local accounts lose nobody in concurrent additions, and leave no temporary file', async () => {
    await using t = await inFolder()
    const people = Array.from({ length: 8 }, (_, i) => ({ ...ann, username: `p${i}`, email: `p${i}@example.org` }))

    await Promise.all(people.map((person) => putAccount(t.file, person, 'x')))

    const names = (await readAccounts(t.file)).map(({ username }) => username)
    expect(names.sort()).toEqual(people.map(({ username }) => username))
    expect(await readdir(t.folder)).toEqual(['accounts.json'])
  })

  test('local accounts lose nobody when several processes add, change and remove some at once', async () => {
    await using t = await inFolder()
    await putAccount(t.file, { ...ann, username: 'old', email: 'old@example.org' }, 'x')
    const accounts = JSON.stringify(fileURLToPath(new URL('../../../server/login/accounts.ts', import.meta.url)))
    const work = (own: string) => `
      const { putAccount, removeAccount, setAccountPassword } = await import(${accounts})
      for (const at of [1, 2, 3]) {
        const username = '${own}' + at
        await putAccount('${t.file}', { username, email: username + '@example.org', name: username }, 'x')
        await setAccountPassword('${t.file}', username, 'y')
      }
      await removeAccount('${t.file}', 'old')
      await removeAccount('${t.file}', '${own}2')`

    await Promise.all(
      ['a', 'b', 'c'].map((own) => promisify(execFile)(process.execPath, ['--input-type=module', '-e', work(own)])),
    )

    const names = (await readAccounts(t.file)).map(({ username }) => username)
    expect(names.sort()).toEqual(['a1', 'a3', 'b1', 'b3', 'c1', 'c3'])
    const source = await t.open()
    expect(await source.verify('b3', 'y')).toMatchObject({ username: 'b3' })
  })

  test('local accounts are readable only for their owner, and keep mode and symbolic link', async () => {
    await using t = await inFolder()
    const link = join(t.folder, 'link.json')
    await putAccount(t.file, ann, 'x')
    expect((await stat(t.file)).mode & 0o777).toBe(0o600)
    await chmod(t.file, 0o640)
    await symlink(t.file, link)

    await putAccount(link, bea, 'x')

    expect((await stat(t.file)).mode & 0o777).toBe(0o640)
    expect(await readAccounts(t.file)).toHaveLength(2)
  })

  test('local accounts refuse a second account with an address, and invalid people', async () => {
    await using t = await inFolder()
    await putAccount(t.file, ann, 'x')
    const before = await readFile(t.file, 'utf8')

    await expect(putAccount(t.file, { ...bea, email: 'ANN@example.org' }, 'x')).rejects.toThrow(/one e-mail address/)
    await expect(putAccount(t.file, { ...bea, username: '../bea' }, 'x')).rejects.toThrow(/letters, digits/)
    await expect(putAccount(t.file, { ...bea, name: 'Bea\nroot' }, 'x')).rejects.toThrow(/one line/)
    expect(await readFile(t.file, 'utf8')).toBe(before)
    expect(await readdir(t.folder)).toEqual(['accounts.json'])
  })

  test('local accounts that cannot be read stop the start, and later every sign-in', async () => {
    await using t = await inFolder()
    await putAccount(t.file, ann, 'one')
    const source = await t.open()

    for (const broken of ['[{', '{"ann": 1}', '[{"username": "ann", "role": "admin", "password": "SECRET"}]']) {
      await writeFile(t.file, broken)
      await expect(t.open(), broken).rejects.toThrow(/not a valid list of accounts/)
      await expect(source.verify('ann', 'one')).rejects.toMatchObject({ problem: 'unavailable' })
    }
    expect(t.log.lines.length).toBeGreaterThan(0)
    expect(t.log.lines.join()).not.toMatch(/SECRET|ann@/)
    await rm(t.file)
    await putAccount(t.file, ann, 'one')
    expect(await source.verify('ann', 'one')).toEqual(expectedLogin(ann))
  })
})

describe('in production', () => {
  test('no source of logins is open unless one is chosen', async () => {
    expect(await openLoginSources(readEnv(production), recordLog())).toEqual({})
  })

  test('local accounts need a file of their own', () => {
    expect(() => readEnv({ ...production, AUTHENTICATION_METHOD: 'local' })).toThrow(/ACCOUNTS_FILE/)
  })

  test('example accounts are ignored with a warning, and stop a start without others', async () => {
    await using t = await inFolder()
    const settings = { ...production, AUTHENTICATION_METHOD: 'local', ACCOUNTS_FILE: t.file }
    await putAccount(t.file, { ...ann, email: 'ann@uni-example.de' }, 'x')
    expect(await (await t.open(settings)).verify('ann', 'x')).toMatchObject({ username: 'ann' })

    const running = await t.open(settings)

    await putAccount(t.file, bea, 'x')

    expect(await running.verify('bea', 'x')).toBeUndefined()
    expect(await running.verify('ann', 'x')).toMatchObject({ username: 'ann' })
    expect(t.log.lines.join()).toMatch(/accounts of the example/)
    expect(await (await t.open(settings)).verify('ann', 'x')).toMatchObject({ username: 'ann' })
    await removeAccount(t.file, 'ann')
    await expect(t.open(settings)).rejects.toThrow(/accounts of the example/)
  })
})

test('an unknown login method stops the start with the list of known ones', () => {
  expect(() => readEnv({ AUTHENTICATION_METHOD: 'local,shibboleth' })).toThrow(
    /must be one of local, ldap, oidc, proxy/,
  )
})
