import { randomUUID } from 'node:crypto'
import { inject } from 'vitest'
import { TEMPLATE } from './global-setup.ts'
import { queryRows } from './postgres-client.ts'

/** A database of one test's own, migrated and otherwise empty. Its files are copied, which takes half of what writing them to the log takes. */
export async function cloneDatabase() {
  return createDatabase(`template ${TEMPLATE} strategy file_copy`)
}

/** A database without a schema. */
export async function createEmptyDatabase() {
  return createDatabase('')
}

async function createDatabase(source: string) {
  const name = `svc_test_${randomUUID().replaceAll('-', '')}`
  await runAdminStatement(`create database ${name} ${source}`)
  return {
    name,
    url: inject('postgresUrl').replace(/\/postgres$/, `/${name}`),
    [Symbol.asyncDispose]: () => runAdminStatement(`drop database ${name} with (force)`),
  }
}

/** Runs a statement on the server's maintenance database. */
export async function runAdminStatement(sql: string): Promise<void> {
  await queryRows(inject('postgresUrl'), sql)
}
