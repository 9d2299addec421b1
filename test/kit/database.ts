import { randomUUID } from 'node:crypto'
import { inject } from 'vitest'
import { TEMPLATE } from './global-setup.ts'
import { rowsOf } from './postgres-client.ts'

/** A database of one test's own, migrated and otherwise empty. Its files are copied, which takes half of what writing them to the log takes. */
export async function cloneDatabase() {
  return databaseFrom(`template ${TEMPLATE} strategy file_copy`)
}

/** A database without a schema. */
export async function emptyDatabase() {
  return databaseFrom('')
}

async function databaseFrom(source: string) {
  const name = `svc_test_${randomUUID().replaceAll('-', '')}`
  await administer(`create database ${name} ${source}`)
  return {
    name,
    url: inject('postgresUrl').replace(/\/postgres$/, `/${name}`),
    [Symbol.asyncDispose]: () => administer(`drop database ${name} with (force)`),
  }
}

/** Runs a statement on the server's maintenance database. */
export async function administer(sql: string): Promise<void> {
  await rowsOf(inject('postgresUrl'), sql)
}
