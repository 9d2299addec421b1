import { MikroORM } from '@mikro-orm/postgresql'
import { entities } from '../../entities/index.ts'
import { selectJsonApi } from '../../routers/index.ts'
import { createCatalogue } from '../../routers/resource/catalogue.ts'

/** The metadata of the entities, read without a database. */
export const metadata = new MikroORM({ clientUrl: 'postgresql://nobody@127.0.0.1/none', entities }).getMetadata()

/** Every type, with those that a setting adds. */
export const catalogue = createCatalogue(selectJsonApi(true).resources, metadata)
