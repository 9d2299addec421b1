const access = {
  people: 'app.admin.people',
  limits: 'app.admin.limits',
  apps: 'app.admin.apps',
  programs: 'app.admin.programs',
  links: 'app.admin.links',
  tokens: 'app.admin.findToken',
} as const

const models = {
  models: 'app.admin.models',
  providers: 'app.admin.providers',
  tasks: 'app.admin.tasks',
  prompts: 'app.admin.prompts',
  tools: 'app.admin.tools',
  assistants: 'app.admin.assistants',
} as const

const operation = {
  usage: 'app.admin.usage',
  bills: 'app.admin.bills',
  announcements: 'app.admin.announcements',
  settings: 'app.admin.settings',
  audit: 'app.admin.audit',
} as const

/** The sections of the administration by their addresses, with their labels. */
export const sections = { overview: 'app.admin.overview', ...access, ...models, ...operation } as const

/** The topics of the sections; the overview stands above them. */
export const topics = [
  { label: 'app.admin.topicAccess', sections: access },
  { label: 'app.admin.topicModels', sections: models },
  { label: 'app.admin.topicOperation', sections: operation },
] as const

export type SectionName = keyof typeof sections

export const isSection = (name: string): name is SectionName => Object.hasOwn(sections, name)
