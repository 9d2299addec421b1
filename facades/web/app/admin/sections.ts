/** The sections of the administration by their addresses, with their labels. */
export const sections = {
  overview: 'app.admin.overview',
  people: 'app.admin.people',
  tokens: 'app.admin.findToken',
  models: 'app.admin.models',
  providers: 'app.admin.providers',
  tasks: 'app.admin.tasks',
  tools: 'app.admin.tools',
  limits: 'app.admin.limits',
  usage: 'app.admin.usage',
  bills: 'app.admin.bills',
  apps: 'app.admin.apps',
  announcements: 'app.admin.announcements',
  settings: 'app.admin.settings',
  audit: 'app.admin.audit',
} as const

export type SectionName = keyof typeof sections

export const isSection = (name: string): name is SectionName => Object.hasOwn(sections, name)
