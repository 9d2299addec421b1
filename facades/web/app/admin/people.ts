import { api } from '../shared/api/client.ts'
import { t } from '../shared/text/labels.ts'
import { useRecords } from './admin-queries.ts'
import { type Filters, findChoice } from './filters.ts'
import { getChoiceLabel } from './member-texts.ts'

export type ListedPerson = Awaited<ReturnType<typeof api.users.search.query>>['users'][number]
export type Person = Awaited<ReturnType<typeof api.users.show.query>>

const roles = ['user', 'admin'] as const
const states = ['active', 'registering', 'disabled'] as const
const sources = ['local', 'ldap', 'oidc', 'proxy', 'none'] as const
const orders = ['username', 'name', 'signedInAt', '-signedInAt'] as const

/** Returns the criteria that the filters of the list set. */
export function toPeopleCriteria(filters: Filters) {
  const [role, state, source, order] = [
    findChoice(roles, filters['role']),
    findChoice(states, filters['state']),
    findChoice(sources, filters['source']),
    findChoice(orders, filters['sort']),
  ]
  return {
    text: filters['q'] ?? '',
    ...(role && { role }),
    ...(filters['group'] && { group: filters['group'] }),
    ...(state && { state }),
    ...(source && { source }),
    ...(order && { order }),
  }
}

export const usePerson = (id: string) =>
  useRecords(['person', id], (signal) => api.users.show.query({ user: { id } }, { signal }))

export const usePersonTokens = (id: string) =>
  useRecords(['tokens', id], (signal) => api.tokens.listFor.query({ user: { id } }, { signal }))

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
export const getRoleLabel = (role: Person['role']) => getChoiceLabel('role', role)
export const getStateLabel = (state: keyof typeof stateLabels) => t(stateLabels[state])
export const listRoleChoices = () => roles.map((role) => [role, getRoleLabel(role)] as const)
export const listStateChoices = () => states.map((state) => [state, getStateLabel(state)] as const)
export const stateKinds = { active: 'ok', registering: 'warn', disabled: 'wrong' } as const
