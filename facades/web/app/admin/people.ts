import { api } from '../shared/api/client.ts'
import { t } from '../shared/text/labels.ts'
import { readPages, useRecords } from './admin-queries.ts'
import { findChoice, useFilters } from './filters.ts'
import type { Rows } from './record-table.tsx'

const PAGE_SIZE = 50
/** The page size when all rows are read. */
const ALL_SIZE = 1000

export type ListedPerson = Awaited<ReturnType<typeof api.users.search.query>>['users'][number]
export type Person = Awaited<ReturnType<typeof api.users.show.query>>

const roles = ['user', 'admin'] as const
const states = ['active', 'registering', 'disabled'] as const
const sources = ['local', 'ldap', 'oidc', 'proxy', 'none'] as const
const orders = ['username', 'name', 'signedInAt', '-signedInAt'] as const

/** Reads a page of the people who match the filters. */
export function usePeople(): Rows<ListedPerson> {
  const { filters } = useFilters()
  const [role, state, source, order] = [
    findChoice(roles, filters['role']),
    findChoice(states, filters['state']),
    findChoice(sources, filters['source']),
    findChoice(orders, filters['sort']),
  ]
  const criteria = {
    text: filters['q'] ?? '',
    ...(role && { role }),
    ...(filters['group'] && { group: filters['group'] }),
    ...(state && { state }),
    ...(source && { source }),
    ...(order && { order }),
  }
  const input = { ...criteria, page: Number(filters['page'] ?? 1), size: PAGE_SIZE }
  const { data, error } = useRecords(['people', input], (signal) => api.users.search.query(input, { signal }))
  const readAll = () =>
    readPages(async (page) => {
      const { users, hasMore } = await api.users.search.query({ ...criteria, page, size: ALL_SIZE })
      return { rows: users, hasMore }
    })
  return { rows: data?.users, error, hasMore: data?.hasMore ?? false, readAll }
}

export const usePerson = (id: string) =>
  useRecords(['person', id], (signal) => api.users.show.query({ user: { id } }, { signal }))

export const usePersonTokens = (id: string) =>
  useRecords(['tokens', id], (signal) => api.tokens.listFor.query({ user: { id } }, { signal }))

const roleLabels = { user: 'app.admin.roleUser', admin: 'app.admin.roleAdmin' } as const
const stateLabels = {
  active: 'app.admin.stateActive',
  registering: 'app.admin.stateRegistering',
  disabled: 'app.admin.stateDisabled',
} as const

/** The ways to sign in. */
const sourceLabels = {
  local: 'app.admin.sourceLocal',
  ldap: 'app.admin.sourceLdap',
  oidc: 'app.admin.sourceOidc',
  proxy: 'app.admin.sourceProxy',
  none: 'app.admin.sourceNone',
} as const

export const getSourceLabel = (source: keyof typeof sourceLabels) => t(sourceLabels[source])
export const listSourceChoices = () => sources.map((source) => [source, getSourceLabel(source)] as const)
export const getRoleLabel = (role: keyof typeof roleLabels) => t(roleLabels[role])
export const getStateLabel = (state: keyof typeof stateLabels) => t(stateLabels[state])
export const listRoleChoices = () => roles.map((role) => [role, getRoleLabel(role)] as const)
export const listStateChoices = () => states.map((state) => [state, getStateLabel(state)] as const)
export const stateKinds = { active: 'ok', registering: 'warn', disabled: 'wrong' } as const
